"""Kafka: a source and a sink."""

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka.flink_consumer import FlinkKafkaConsumer
from penstock.connectors.kafka.flink_producer import FlinkKafkaProducer, Semantic
from penstock.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.connectors.kafka.record import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.record_serializer import (
    KafkaHeaderProvider,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from penstock.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from penstock.connectors.kafka.source import KafkaSource
from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

__all__ = [
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaHeaderProvider",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaPartitioner",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
