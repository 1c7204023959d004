"""Kafka: a source and a sink."""

from penstock.connectors.kafka.flink_consumer import FlinkKafkaConsumer
from penstock.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.connectors.kafka.record import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.source import KafkaSource
from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

__all__ = [
    "FlinkKafkaConsumer",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]
