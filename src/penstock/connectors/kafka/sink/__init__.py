"""The Kafka sink: producers, transactions and record serializers."""
