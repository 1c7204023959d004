"""The Kafka source and sink."""

import sys

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka.sink.flink_producer import FlinkKafkaProducer, Semantic
from penstock.connectors.kafka.sink.record_serializer import (
    KafkaHeaderProvider,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from penstock.connectors.kafka.sink.sink import KafkaSink, KafkaSinkBuilder
from penstock.connectors.kafka.source.flink_consumer import FlinkKafkaConsumer
from penstock.connectors.kafka.source.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.connectors.kafka.source.record import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.source.source import KafkaSource
from penstock.connectors.kafka.source.source_builder import KafkaSourceBuilder

# The former module of KafkaRecord, to which pickled elements in the state of earlier versions refer.
sys.modules[f"{__name__}.record"] = sys.modules[KafkaRecord.__module__]

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
