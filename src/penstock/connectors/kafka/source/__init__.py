"""The Kafka source: planning on the driver, reading in tasks."""
