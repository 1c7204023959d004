"""Imports the client library confluent-kafka when it is needed, and converts its errors to Penstock errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from penstock.errors import ConfigError, JobError, PenstockError

log = logging.getLogger("penstock.kafka")


def confluent_kafka() -> ModuleType:
    """Imports and returns confluent_kafka. Only jobs that read or write Kafka need it."""
    try:
        import confluent_kafka
    except ImportError as error:
        raise ConfigError(
            "KAFKA_MISSING",
            f"The Kafka connector needs the package confluent-kafka, which cannot be imported ({error}). Install it with "
            "`pip install 'penstock[kafka]'` on every machine that runs the job.",
        ) from None
    return confluent_kafka


class LastError:
    """The last error that a client reported in the background.

    A failed call often reports only a timeout; this error has the cause.
    """

    def __init__(self) -> None:
        self.error: Any = None

    def __call__(self, error: Any) -> None:
        """Called by the client as `error_cb`."""
        if self.error is None or error.code() != confluent_kafka().KafkaError._ALL_BROKERS_DOWN:
            self.error = error  # "all brokers down" does not replace the reason why the last one is down

    def is_permanent(self) -> bool:
        """Whether retrying cannot help, as with wrong credentials."""
        return self.error is not None and self.error.code() in _authentication_codes()


def to_penstock_error(error: Any, options: Mapping[str, Any], action: str, last_error: Any = None) -> PenstockError:
    """Converts an error of the client.

    `action` completes "could not ..." in the message. `last_error` is what the client reported in the background, if anything.
    """
    kafka = confluent_kafka().KafkaError
    servers = options.get("bootstrap.servers", "")
    code = error.code()
    if last_error is not None and code not in _data_error_codes():
        error, code = last_error, last_error.code()
    reason = str(error.str()).rstrip(".")
    if code in _authentication_codes():
        mechanism = options.get("sasl.mechanisms", options.get("sasl.mechanism", "none"))
        return ConfigError(
            "KAFKA_CREDENTIALS",
            f"Kafka at {servers} rejects the credentials: {reason}. The client used security.protocol="
            f"{options.get('security.protocol', 'plaintext')}, sasl.mechanism={mechanism}, user "
            f"{options.get('sasl.username', 'none')}. Correct these options or sasl.jaas.config.",
        )
    if code in (kafka._SSL, kafka._INVALID_ARG):
        return ConfigError(
            "KAFKA_CLIENT",
            f"The Kafka client cannot be created: {reason}. Correct the properties of the source or sink.",
        )
    if code in _authorization_codes():
        return ConfigError(
            "KAFKA_NOT_ALLOWED",
            f"Kafka at {servers} does not allow this user to {action}: {reason}. Add a Kafka ACL that grants this to the user.",
        )
    if code in (kafka._TIMED_OUT, kafka._ALL_BROKERS_DOWN, kafka._TRANSPORT, kafka._RESOLVE, kafka._FAIL):
        return JobError(
            "KAFKA_UNREACHABLE",
            f"Kafka at {servers} does not respond; could not {action}: {reason}. Check that the broker is running and that "
            "bootstrap.servers and security.protocol are correct. The property default.api.timeout.ms sets the timeout.",
        )
    return JobError("KAFKA_FAILED", f"Kafka at {servers} could not {action}: {reason} ({error.name()}).")


def permanent_error_codes() -> tuple[int, ...]:
    """Returns the codes of errors that a retry cannot resolve."""
    kafka = confluent_kafka().KafkaError
    own = (kafka._INVALID_ARG, kafka._SSL, kafka._UNSUPPORTED_FEATURE, kafka.INVALID_REQUEST)
    return (*_authentication_codes(), *_authorization_codes(), *own, kafka.TOPIC_EXCEPTION)


def _authentication_codes() -> tuple[int, ...]:
    kafka = confluent_kafka().KafkaError
    return kafka._AUTHENTICATION, kafka.SASL_AUTHENTICATION_FAILED, kafka.UNSUPPORTED_SASL_MECHANISM


def _authorization_codes() -> tuple[int, ...]:
    kafka = confluent_kafka().KafkaError
    return (
        kafka.TOPIC_AUTHORIZATION_FAILED,
        kafka.GROUP_AUTHORIZATION_FAILED,
        kafka.CLUSTER_AUTHORIZATION_FAILED,
        kafka.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )


def _data_error_codes() -> tuple[int, ...]:
    kafka = confluent_kafka().KafkaError
    return kafka.UNKNOWN_TOPIC_OR_PART, kafka._UNKNOWN_TOPIC, kafka._UNKNOWN_PARTITION, kafka.OFFSET_OUT_OF_RANGE
