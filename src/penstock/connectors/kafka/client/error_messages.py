"""Converts errors of a Kafka producer to Penstock errors that say what to do."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigError, JobError, PenstockError

_DENIED = {
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
}
_LOGIN = {"_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE"}
UNREACHABLE = {
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_RESOLVE",
    "_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_MSG_TIMED_OUT",
    "REQUEST_TIMED_OUT",
}
_FENCED = {"_FENCED", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE"}


def to_sink_error(error: Any, servers: str, action: str) -> PenstockError:
    """Converts an error of the client. `action` is what the sink was doing, such as "writing to topic 'orders'"."""
    name = error.name()
    message = f"Kafka at {servers}, {action}: {error.str()} ({name})"
    if name in _DENIED:
        return ConfigError(
            "KAFKA_NOT_ALLOWED",
            f"{message}. The user lacks permission. Writing needs the ACL WRITE on the topic. EXACTLY_ONCE also needs READ on "
            "the topic, and READ on the groups and WRITE on the transactional ids that start with the prefix of "
            "set_transactional_id_prefix.",
        )
    if name in _LOGIN:
        return ConfigError(
            "KAFKA_CREDENTIALS",
            f"{message}. Kafka rejects the credentials. Check security.protocol and the properties that start with sasl. or ssl.",
        )
    if name in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"):
        return unknown_topic(action, servers)
    if name == "MSG_SIZE_TOO_LARGE":
        return JobError(
            "KAFKA_RECORD_TOO_LARGE",
            f"{message}. The client limits records to its property message.max.bytes (max.request.size in the Java client), "
            "and the topic to its max.message.bytes. Raise both, or drop such elements in a filter before the sink, then "
            "resume the job.",
        )
    if name == "INVALID_TRANSACTION_TIMEOUT":
        return ConfigError(
            "KAFKA_TRANSACTION_TIMEOUT",
            f"{message}. transaction.timeout.ms of the sink is larger than transaction.max.timeout.ms of the broker. Lower the "
            "first or raise the second.",
        )
    if name in _FENCED:
        return JobError(
            "KAFKA_FENCED",
            f"{message}. Either another run writes with the same transactional ids, or the transaction took longer than "
            "transaction.timeout.ms and the broker aborted it. No data is lost: the batch was not committed and runs again. If a "
            "batch takes this long, raise transaction.timeout.ms with set_property or reduce the option source.batch.records.",
        )
    if name in UNREACHABLE:
        return JobError(
            "KAFKA_UNREACHABLE",
            f"{message}. Check that the brokers are running and that set_bootstrap_servers and security.protocol are correct. "
            "The batch was not committed; resume the job when the brokers are available.",
        )
    return JobError("KAFKA_REFUSED", f"{message}. The batch was not committed. Fix the cause, then resume the job.")


def unknown_topic(action: str, servers: str) -> PenstockError:
    """Returns the error for a topic that does not exist."""
    return ConfigError(
        "KAFKA_NO_TOPIC",
        f"Kafka at {servers}, {action}: the topic does not exist, and the broker does not create topics automatically. Create it "
        "with the number of partitions that its readers need, or correct the name in set_topic or in the topic selector.",
    )
