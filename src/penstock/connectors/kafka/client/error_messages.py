"""What goes wrong between a client and Kafka, in words that say what to do."""

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


def refusal(error: Any, servers: str, doing: str) -> PenstockError:
    """The error to raise for one of Kafka's client, met at these servers while `doing` something."""
    name, words = error.name(), error.str()
    met = f"Kafka at {servers}, {doing}: {words} ({name})"
    if name in _DENIED:
        return ConfigError(
            "KAFKA_NOT_ALLOWED",
            f"{met}. The user may not do this. Writing needs WRITE on the topic; exactly once also READ on it, READ on the "
            "groups and WRITE on the transactional ids that begin with the sink's set_transactional_id_prefix.",
        )
    if name in _LOGIN:
        return ConfigError(
            "KAFKA_CREDENTIALS",
            f"{met}. Kafka does not accept who we are: check security.protocol and the properties that begin with sasl. or ssl.",
        )
    if name in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"):
        return unknown_topic(doing, servers)
    if name == "MSG_SIZE_TOO_LARGE":
        return JobError(
            "KAFKA_RECORD_TOO_LARGE",
            f"{met}. The client sends records up to its property message.max.bytes (Java's max.request.size), and a topic takes "
            "those up to its max.message.bytes: raise both, or drop such elements in a filter before the sink. Then resume.",
        )
    if name == "INVALID_TRANSACTION_TIMEOUT":
        return ConfigError(
            "KAFKA_TRANSACTION_TIMEOUT",
            f"{met}. The sink's property transaction.timeout.ms is above the broker's transaction.max.timeout.ms: lower the one "
            "or raise the other.",
        )
    if name in _FENCED:
        return JobError(
            "KAFKA_FENCED",
            f"{met}. Either another run writes with the same transactional ids, or the transaction took longer than "
            "transaction.timeout.ms and the broker gave it up. Nothing is lost: the batch was not committed and runs again. If it "
            "takes so long, raise transaction.timeout.ms with set_property, or let batches be smaller with source.batch.records.",
        )
    if name in UNREACHABLE:
        return JobError(
            "KAFKA_UNREACHABLE",
            f"{met}. Check that the brokers run and that set_bootstrap_servers and security.protocol are right. Nothing of the "
            "batch counts as written: resume the job when they are back.",
        )
    return JobError("KAFKA_REFUSED", f"{met}. Nothing of the batch counts as written: mend this, then resume the job.")


def unknown_topic(doing: str, servers: str) -> PenstockError:
    """A topic that is not there."""
    return ConfigError(
        "KAFKA_NO_TOPIC",
        f"Kafka at {servers}, {doing}: there is no such topic, and the broker does not create it by itself. Create it with the "
        "number of partitions that its readers need, or correct the name in set_topic or what the topic selector gives.",
    )
