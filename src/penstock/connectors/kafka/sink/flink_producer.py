"""FlinkKafkaProducer, the Kafka sink of older PyFlink programs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Self

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka.client.options import client_options
from penstock.connectors.kafka.sink.record_serializer import KafkaRecordSerializationSchema
from penstock.connectors.kafka.sink.sink import KafkaSink
from penstock.errors import ConfigError, UnsupportedOperation, check_enum, warn_ignored
from penstock.formats import SerializationSchema


class Semantic(Enum):
    """Delivery guarantee of a FlinkKafkaProducer, like DeliveryGuarantee."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


class FlinkKafkaProducer(KafkaSink):
    """Writes elements to one topic, without keys. Use KafkaSink in new programs.

    >>> from penstock.formats import SimpleStringSchema
    >>> sink = FlinkKafkaProducer("words", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"})
    >>> sink.guarantee.name
    'AT_LEAST_ONCE'
    """

    wants_timestamps = False

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: Mapping[str, Any],
        kafka_producers_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if not producer_config.get("bootstrap.servers"):
            raise ConfigError("KAFKA_SINK", "producer_config of FlinkKafkaProducer has no bootstrap.servers. Add them.")
        if kafka_producers_pool_size != 5:
            warn_ignored("FlinkKafkaProducer: kafka_producers_pool_size has no effect. Each task has one producer.")
        check_enum("FlinkKafkaProducer", semantic, Semantic)
        value = KafkaRecordSerializationSchema.builder().set_topic(topic)
        super().__init__(
            client_options(producer_config, "producer"),
            value.set_value_serialization_schema(serialization_schema).build(),
            DeliveryGuarantee(semantic.value),
        )

    def set_log_failures_only(self, log_failures_only: bool) -> Self:
        """Accepts only False. A record that cannot be written always fails the job."""
        if log_failures_only:
            raise UnsupportedOperation(
                "KAFKA_LOG_FAILURES",
                "set_log_failures_only(True) is not supported, because records that cannot be written would be lost. Remove the "
                "call. With DeliveryGuarantee.NONE the sink does not wait for the broker.",
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> Self:
        """Sets whether a batch waits until the broker has its records. With False, AT_LEAST_ONCE becomes NONE."""
        if not flush_on_checkpoint and self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE:
            self.guarantee = DeliveryGuarantee.NONE
        elif not flush_on_checkpoint and self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            warn_ignored(
                "set_flush_on_checkpoint(False) has no effect with EXACTLY_ONCE. A transaction waits for its records."
            )
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> Self:
        """Sets whether records get the timestamp of the element. The default is the time of writing."""
        self.wants_timestamps = write_timestamp_to_kafka
        return self

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Has no effect. No transaction outlives its batch, so none can time out between two runs."""
        warn_ignored(
            "ignore_failures_after_transaction_timeout() has no effect. No transaction outlives its batch, so none can time out."
        )
        return self
