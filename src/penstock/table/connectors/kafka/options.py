"""The options of the connectors 'kafka' and 'upsert-kafka', and what they say about offsets and fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from penstock.table.connectors.options import (
    COMMON_SINK_OPTIONS,
    COMMON_SOURCE_OPTIONS,
    DEAD_LETTER_OPTIONS,
    Option,
    OptionValues,
)
from penstock.types.logical.kinds import Field

_OFFSET = re.compile(r"\s*partition:(\d+)\s*,\s*offset:(\d+)\s*")
_GUARANTEES = ("exactly-once", "at-least-once", "none")

_SHARED = (
    Option("topic", "list"),
    Option("topic-pattern"),
    Option("properties.*"),
    Option("key.format"),
    Option("key.fields-prefix", default=""),
    Option("value.fields-include", "enum", "ALL", choices=("ALL", "EXCEPT_KEY")),
    Option("scan.bounded.mode", "enum", "unbounded",
           choices=("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets")),
    Option("scan.bounded.specific-offsets"),
    Option("scan.bounded.timestamp-millis", "int"),
    Option("scan.topic-partition-discovery.interval", "duration", 300_000),
    Option("sink.delivery-guarantee", "enum", "at-least-once", choices=_GUARANTEES),
    Option("sink.transactional-id-prefix"),
    Option("sink.transaction-naming-strategy", refused="transactional ids of Penstock never depend on it."),
    *DEAD_LETTER_OPTIONS,
    *COMMON_SOURCE_OPTIONS,
    *COMMON_SINK_OPTIONS,
)  # fmt: skip
KAFKA_OPTIONS = (
    *_SHARED,
    Option("format"),
    Option("value.format"),
    Option("key.fields", "list", []),
    Option("scan.startup.mode", "enum", "group-offsets",
           choices=("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")),
    Option("scan.startup.specific-offsets"),
    Option("scan.startup.timestamp-millis", "int"),
    Option("sink.partitioner", default="default"),
    Option("sink.semantic", refused="it is the old name of 'sink.delivery-guarantee'."),
)  # fmt: skip
UPSERT_OPTIONS = (
    *_SHARED,
    Option("value.format", required=True),
    Option("sink.buffer-flush.max-rows", "int", 0),
    Option("sink.buffer-flush.interval", "duration", 0),
)


@dataclass(frozen=True, slots=True)
class KeyAndValue:
    """Which columns of the table are in the key and in the value of a record, by position."""

    key: tuple[int, ...]
    value: tuple[int, ...]
    prefix: str = ""

    def key_fields(self, columns: Sequence[Field]) -> list[Field]:
        """Returns the fields of the key as the format sees them, without the prefix."""
        return [Field(columns[i].name.removeprefix(self.prefix), columns[i].type) for i in self.key]

    def value_fields(self, columns: Sequence[Field]) -> list[Field]:
        """Returns the fields of the value."""
        return [columns[i] for i in self.value]


def split_fields(values: OptionValues, columns: Sequence[Field], key_names: Sequence[str]) -> KeyAndValue:
    """Distributes the columns of a table over key and value."""
    prefix: str = values["key.fields-prefix"]
    except_key = values["value.fields-include"] == "EXCEPT_KEY"
    names = [field.name for field in columns]
    for name in key_names:
        if name not in names:
            raise values.error(f"Key field '{name}' is not a physical column. Columns: {', '.join(names)}.")
        if not name.startswith(prefix):
            raise values.error(
                f"Option 'key.fields-prefix' is '{prefix}', but the key field '{name}' does not start with it."
            )
    if prefix and not except_key:
        raise values.error("Option 'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY'.")
    key = tuple(names.index(name) for name in key_names)
    value = tuple(i for i in range(len(names)) if not (except_key and i in key))
    return KeyAndValue(key, value, prefix)


def check_topics(values: OptionValues) -> None:
    """Checks that the topics are given exactly once."""
    if (values["topic"] is None) == (values["topic-pattern"] is None):
        raise values.error("Set one of the options 'topic' and 'topic-pattern'.")
    if "bootstrap.servers" not in values.after("properties."):
        raise values.error("Required option 'properties.bootstrap.servers' is missing.")


def startup_offsets(values: OptionValues) -> KafkaOffsetsInitializer:
    """Returns where a new job starts to read."""
    return _offsets(values, "startup", values["scan.startup.mode"])


def bounded_offsets(values: OptionValues) -> KafkaOffsetsInitializer | None:
    """Returns where a bounded table ends, or None."""
    mode = values["scan.bounded.mode"]
    return None if mode == "unbounded" else _offsets(values, "bounded", mode)


def _offsets(values: OptionValues, place: str, mode: str) -> KafkaOffsetsInitializer:
    match mode:
        case "earliest-offset":
            return KafkaOffsetsInitializer.earliest()
        case "latest-offset":
            return KafkaOffsetsInitializer.latest()
        case "group-offsets":
            reset = str(values.after("properties.").get("auto.offset.reset", "none")).upper()
            known = KafkaOffsetResetStrategy.__members__
            if reset not in known:
                raise values.error(
                    f"Option 'properties.auto.offset.reset' is '{reset.lower()}'; expected earliest, latest or none."
                )
            return KafkaOffsetsInitializer.committed_offsets(known[reset])
        case "timestamp":
            at = _required(values, f"scan.{place}.timestamp-millis", mode)
            return KafkaOffsetsInitializer.timestamp(at)
    name = f"scan.{place}.specific-offsets"
    text = _required(values, name, mode)
    topics = values["topic"] or []
    if len(topics) != 1:
        raise values.error(f"Option '{name}' needs exactly one topic, because it names only partitions.")
    given: dict[KafkaTopicPartition, int] = {}
    for part in str(text).split(";"):
        match_ = _OFFSET.fullmatch(part)
        if match_ is None:
            raise values.error(
                f"Option '{name}' has the value '{text}'; expected the form 'partition:0,offset:42;partition:1,offset:300'."
            )
        given[KafkaTopicPartition(topics[0], int(match_[1]))] = int(match_[2])
    return KafkaOffsetsInitializer.offsets(given)


def _required(values: OptionValues, name: str, mode: str) -> Any:
    if values[name] is None:
        raise values.error(f"Option '{name}' is missing, which the mode '{mode}' needs.")
    return values[name]


def guarantee(values: OptionValues) -> DeliveryGuarantee:
    """Returns the delivery guarantee of the sink."""
    chosen = values["sink.delivery-guarantee"]
    if chosen == "exactly-once" and not values["sink.transactional-id-prefix"]:
        raise values.error("'sink.transactional-id-prefix' must be specified when using exactly-once delivery.")
    return DeliveryGuarantee[chosen.upper().replace("-", "_")]
