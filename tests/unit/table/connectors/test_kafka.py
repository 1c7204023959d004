"""The connectors 'kafka' and 'upsert-kafka': records to columns and back. Nothing connects to a broker here."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import pytest

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka import KafkaRecord, KafkaSink
from penstock.errors import ConfigError, ElementError
from penstock.table.connectors.registry import find_connector
from tests.unit.formats.columns.tables import changes, rows_of
from tests.unit.table.connectors.requests import PATH, sink, source

KAFKA = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "format": "json",
    "scan.startup.mode": "earliest-offset",
}
KEYED = {
    **KAFKA,
    "key.format": "json",
    "key.fields": "k_id",
    "key.fields-prefix": "k_",
    "value.fields-include": "EXCEPT_KEY",
}
UPSERT = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "key.format": "json",
    "value.format": "json",
}


def record(key: bytes | None, value: bytes | None, offset: int = 0, **more: Any) -> KafkaRecord:
    return KafkaRecord("t", 3, offset, 1500, key, value, **more)


def encoded(table: Any, rows: Any) -> Any:
    return pickle.loads(pickle.dumps(table.encoder)).encode(rows)


def records(table: Any, elements: list[Any]) -> Any:
    return table.sink.serializer.of_type(None).encode(elements, lambda topic: [4, 5])


def test_values_alone_are_bytes() -> None:
    table = source("a INT, b STRING", KAFKA, ["b"])
    assert not table.source.bounded
    assert rows_of(table.decoder.decode([b'{"a":1,"b":"x"}'])) == [("x",)]
    assert source("a INT", {**KAFKA, "scan.bounded.mode": "latest-offset"}).source.bounded


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"scan.startup.mode": "latest-offset"}, "latest"),
        ({"scan.startup.mode": "group-offsets", "properties.group.id": "g"}, "committed"),
        ({"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "5"}, "timestamp"),
        ({"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:0,offset:4; partition:1,offset:3"},
         "offsets"),
    ],
)  # fmt: skip
def test_startup_modes(options: dict[str, str], kind: str) -> None:
    assert source("a INT", {**KAFKA, **options}).source._start.kind == kind  # type: ignore[attr-defined]


def test_key_value_and_metadata() -> None:
    metadata = {
        "topic": "STRING", "partition": "BIGINT", "offset": "BIGINT", "timestamp": "TIMESTAMP(3)",
        "headers": "MAP<STRING, BYTES>", "timestamp-type": "STRING", "leader-epoch": "INT",
    }  # fmt: skip
    table = source("k_id INT, a STRING", KEYED, ["a", "k_id"], metadata)
    elements = [
        record(b'{"id":7}', b'{"a":"x"}', 5, headers=[("h", b"1")], timestamp_type=1, leader_epoch=2),
        record(b'{"id":8}', b"broken", 6),
        record(b"broken", b'{"a":"y"}', 7),
        record(None, b'{"a":"z"}', 8),
    ]
    decoded = pickle.loads(pickle.dumps(table.decoder)).decode(elements)
    at = datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)
    assert rows_of(decoded) == [
        ("x", 7, "t", 3, 5, at, [("h", b"1")], "CreateTime", 2),
        ("z", None, "t", 3, 8, at, [], "NoTimestampType", None),
    ]
    assert (decoded.origins.tolist(), [i for i, _ in decoded.bad]) == ([0, 3], [1, 2])
    assert set(metadata) == set(find_connector(KEYED, PATH).metadata_columns(KEYED))


def test_metadata_of_the_format() -> None:
    options = {**KAFKA, "format": "debezium-json"}
    table = source("a INT", options, None, {"value.source.table": "STRING", "offset": "BIGINT"})
    assert table.mode == "retract"
    value = b'{"before":{"a":1},"after":{"a":2},"op":"u","source":{"table":"s"}}'
    assert rows_of(table.decoder.decode([record(None, value, 9)])) == [("-U", 1, "s", 9), ("+U", 2, "s", 9)]


def test_values_are_written_as_they_are() -> None:
    table = sink("a INT", KAFKA)
    elements, _ = encoded(table, changes("a INT", [(1,)]))
    written = records(table, elements)
    assert (written.topics, written.values, written.keys, table.mode) == ("t", [b'{"a":1}'], None, "append")
    assert isinstance(table.sink, KafkaSink)
    assert table.sink.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
    assert not table.sink.wants_timestamps


def test_keys_and_metadata_are_written() -> None:
    metadata = {"timestamp": "TIMESTAMP_LTZ(3)", "headers": "MAP<STRING, BYTES>", "topic": "STRING"}
    table = sink("k_id INT, a STRING", {**KEYED, "topic": "t;u"}, metadata)
    columns = "k_id INT, a STRING, ts TIMESTAMP_LTZ(3), h MAP<STRING, BYTES>, topic STRING"
    at = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    elements, _ = encoded(table, changes(columns, [(1, "x", at, [("h", b"1")], "u"), (2, "y", None, None, "t")]))
    written = records(table, elements)
    assert (written.keys, written.values) == ([b'{"id":1}', b'{"id":2}'], [b'{"a":"x"}', b'{"a":"y"}'])
    assert (written.topics, written.timestamps, written.headers) == (["u", "t"], [1000, 0], [[("h", b"1")], []])
    elements, _ = encoded(table, changes(columns, [(1, "x", None, None, "other")]))
    with pytest.raises(ElementError, match="'other'"):
        records(table, elements)


def test_partitioners_and_guarantees() -> None:
    options = {
        "sink.partitioner": "fixed",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": "p",
    }
    table = sink("a INT", {**KAFKA, **options})
    assert isinstance(table.sink, KafkaSink)
    table.sink.serializer.open(1, 2)
    assert records(table, [b"x"]).partitions == [5]
    assert (table.sink.guarantee, table.sink.prefix) == (DeliveryGuarantee.EXACTLY_ONCE, "p")


def test_changes_of_change_capture_are_accepted() -> None:
    assert sink("a INT", {**KAFKA, "format": "canal-json"}).mode == "retract"


def test_a_primary_key_needs_upserts() -> None:
    for table in (sink, source):
        with pytest.raises(ConfigError, match="PRIMARY KEY"):
            table("a INT", KAFKA, key=("a",))
        with pytest.raises(ConfigError, match="PRIMARY KEY"):
            table("a INT", UPSERT)


def test_metadata_that_cannot_be_written() -> None:
    with pytest.raises(ConfigError, match="VIRTUAL"):
        sink("a INT", KAFKA, {"offset": "BIGINT"})


@pytest.mark.parametrize("include", ["ALL", "EXCEPT_KEY"])
def test_upserts_are_read(include: str) -> None:
    table = source(
        "b STRING, id INT", {**UPSERT, "value.fields-include": include}, ["id", "b"], {"offset": "BIGINT"}, key=("id",)
    )
    assert table.mode == "upsert"
    value = b'{"id":1,"b":"x"}' if include == "ALL" else b'{"b":"x"}'
    elements = [record(b'{"id":1}', value, 0), record(b'{"id":2}', None, 1), record(b'{"id":1}', value, 2)]
    decoded = pickle.loads(pickle.dumps(table.decoder)).decode(elements)
    assert rows_of(decoded) == [("+U", 1, "x", 0), ("-D", 2, None, 1), ("+U", 1, "x", 2)]
    assert decoded.origins.tolist() == [0, 1, 2]
    assert rows_of(table.decoder.decode(elements[:1])) == [("+U", 1, "x", 0)]
    assert [at for at, _ in table.decoder.decode([record(b"x", None), *elements]).bad] == [0]


@pytest.mark.parametrize("include", ["ALL", "EXCEPT_KEY"])
def test_upserts_are_written(include: str) -> None:
    table = sink("b STRING, id INT", {**UPSERT, "value.fields-include": include}, key=("id",))
    assert table.mode == "upsert"
    rows = changes("b STRING, id INT", [("x", 1), ("x", 1), ("y", 1), ("y", 1)], "+I -U +U -D")
    elements, origins = encoded(table, rows)
    written = records(table, elements)
    value = b'{"b":"%b","id":1}' if include == "ALL" else b'{"b":"%b"}'
    assert written.values == [value % b"x", value % b"y", None]
    assert written.keys == [b'{"id":1}'] * 3
    assert origins.tolist() == [0, 2, 3]


def test_the_subject_of_a_schema_is_that_of_the_topic() -> None:
    table = sink("a INT", {**KAFKA, "format": "avro-confluent", "avro-confluent.url": "http://127.0.0.1:1"})
    assert table.encoder.subject == "t-value"  # type: ignore[attr-defined]
