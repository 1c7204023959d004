"""The Kafka client library: options, errors and imports."""
