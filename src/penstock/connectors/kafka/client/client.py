"""Kafka's client library: imported where it is used, and its errors in our words."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from penstock.errors import ConfigError, JobError, PenstockError

log = logging.getLogger("penstock.kafka")


def confluent_kafka() -> ModuleType:
    """The module; importing it is left to those who read or write Kafka."""
    try:
        import confluent_kafka
    except ImportError as error:
        raise ConfigError(
            "KAFKA_MISSING",
            f"Kafka is read and written with confluent-kafka, which cannot be imported ({error}). Install it with "
            "`pip install 'penstock[kafka]'`, on every machine that runs the job.",
        ) from None
    return confluent_kafka


class Heard:
    """The last thing a client said went wrong: what it answers itself is often only that the time is up."""

    def __init__(self) -> None:
        self.error: Any = None

    def __call__(self, error: Any) -> None:
        """Called by the client, as `error_cb`."""
        if self.error is None or error.code() != confluent_kafka().KafkaError._ALL_BROKERS_DOWN:
            self.error = error  # that all brokers are down says less than why the last one is

    def is_final(self) -> bool:
        """Whether waiting cannot help: wrong credentials stay wrong."""
        return self.error is not None and self.error.code() in _refusals()


def told(error: Any, options: Mapping[str, Any], doing: str, heard: Any = None) -> PenstockError:
    """An error of the client's in our words. `heard` is what it said before, if anything."""
    kafka = confluent_kafka().KafkaError
    servers = options.get("bootstrap.servers", "")
    code = error.code()
    if heard is not None and code not in _about_data():
        error, code = heard, heard.code()
    said = str(error.str()).rstrip(".")
    if code in _refusals():
        mechanism = options.get("sasl.mechanisms", options.get("sasl.mechanism", "none"))
        return ConfigError(
            "KAFKA_CREDENTIALS",
            f"Kafka at {servers} refuses the credentials: {said}. It was asked by security.protocol="
            f"{options.get('security.protocol', 'plaintext')}, sasl.mechanism={mechanism}, user "
            f"{options.get('sasl.username', 'none')}. Correct these options or sasl.jaas.config.",
        )
    if code in (kafka._SSL, kafka._INVALID_ARG):
        return ConfigError(
            "KAFKA_CLIENT", f"The Kafka client cannot be used: {said}. Correct the options of the source or sink."
        )
    if code in _not_allowed():
        return ConfigError(
            "KAFKA_NOT_ALLOWED",
            f"Kafka at {servers} does not allow this user to {doing}: {said}. Give the user the right to, by an ACL of Kafka's.",
        )
    if code in (kafka._TIMED_OUT, kafka._ALL_BROKERS_DOWN, kafka._TRANSPORT, kafka._RESOLVE, kafka._FAIL):
        return JobError(
            "KAFKA_UNREACHABLE",
            f"Kafka at {servers} does not answer: could not {doing}: {said}. Check that the broker runs, bootstrap.servers and "
            "security.protocol; default.api.timeout.ms says how long to wait.",
        )
    return JobError("KAFKA_FAILED", f"Kafka at {servers} could not {doing}: {said} ({error.name()}).")


def final_codes() -> tuple[int, ...]:
    """Errors that stay, however often the client asks."""
    kafka = confluent_kafka().KafkaError
    own = (kafka._INVALID_ARG, kafka._SSL, kafka._UNSUPPORTED_FEATURE, kafka.INVALID_REQUEST)
    return (*_refusals(), *_not_allowed(), *own, kafka.TOPIC_EXCEPTION)


def _refusals() -> tuple[int, ...]:
    kafka = confluent_kafka().KafkaError
    return kafka._AUTHENTICATION, kafka.SASL_AUTHENTICATION_FAILED, kafka.UNSUPPORTED_SASL_MECHANISM


def _not_allowed() -> tuple[int, ...]:
    kafka = confluent_kafka().KafkaError
    return (
        kafka.TOPIC_AUTHORIZATION_FAILED,
        kafka.GROUP_AUTHORIZATION_FAILED,
        kafka.CLUSTER_AUTHORIZATION_FAILED,
        kafka.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )


def _about_data() -> tuple[int, ...]:
    kafka = confluent_kafka().KafkaError
    return kafka.UNKNOWN_TOPIC_OR_PART, kafka._UNKNOWN_TOPIC, kafka._UNKNOWN_PARTITION, kafka.OFFSET_OUT_OF_RANGE
