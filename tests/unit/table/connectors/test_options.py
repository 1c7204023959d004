"""Options of tables: what is known, required, refused, and what the errors say."""

from __future__ import annotations

import pytest

from penstock.errors import ConfigError, PenstockError, UnsupportedOperation
from penstock.table.connectors.formats.registry import format_names
from penstock.table.connectors.options import Option, OptionValues
from penstock.table.connectors.registry import connector_names, find_connector
from tests.unit.table.connectors.requests import PATH, sink, source

FILE = {"connector": "filesystem", "path": "in", "format": "json"}
KAFKA = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "format": "json",
    "properties.group.id": "g",
}


def test_every_connector_and_format_has_a_name() -> None:
    names = connector_names()
    known = {"blackhole", "datagen", "filesystem", "jdbc", "kafka", "print", "python", "redis", "upsert-kafka"}
    assert known <= set(names)
    assert names == sorted(names)
    assert len(format_names()) == 11


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["'connector'", "kafka"]),
        ({"connector": "filesystm"}, ["'filesystm'", "Did you mean 'filesystem'?", "upsert-kafka"]),
        ({"connector": "filesystem", "path": "in"}, ["'format'", "missing", "sink.rolling-policy.file-size"]),
        ({"connector": "filesystem", "format": "json"}, ["'path'", "missing"]),
        ({**FILE, "format": "jsn"}, ["'jsn'", "Did you mean 'json'?", "avro-confluent"]),
        ({**FILE, "pathh": "x"}, ["'pathh'", "Did you mean 'path'?", "json.ignore-parse-errors"]),
        ({**FILE, "json.fail-on-missing": "true"}, ["Did you mean 'json.fail-on-missing-field'?"]),
        ({**FILE, "json.ignore-parse-errors": "yes"}, ["'yes'", "true or false"]),
        ({**FILE, "json.timestamp-format.standard": "RFC"}, ["'RFC'", "one of 'SQL', 'ISO-8601'"]),
        ({**FILE, "source.monitor-interval": "soon"}, ["'soon'", "a duration"]),
        ({**FILE, "sink.rolling-policy.file-size": "big"}, ["'big'", "a size"]),
        ({**FILE, "scan.parallelism": "two"}, ["'two'", "a whole number"]),
        ({**FILE, "sink.partition-commit.policy.kind": "success-file"}, ["not supported"]),
        ({**FILE, "json.ignore-parse-errors": "true", "json.fail-on-missing-field": "true"}, ["shouldn't both be true"]),
        ({**FILE, "csv.field-delimiter": ";"}, ["'csv.field-delimiter' is unknown"]),
        ({**FILE, "format": "csv", "csv.field-delimiter": ";;"}, ["single character"]),
        ({**FILE, "format": "csv", "csv.quote-character": "'", "csv.disable-quote-character": "true"}, ["at the same time"]),
        ({**FILE, "format": "avro-confluent", "avro-confluent.url": "http://h"}, ["messages"]),
        ({**FILE, "format": "avro", "avro.encoding": "xml"}, ["'binary'"]),
        ({**KAFKA, "topic-pattern": "x"}, ["one of the options 'topic' and 'topic-pattern'"]),
        ({k: v for k, v in KAFKA.items() if k != "format"}, ["'format' is missing"]),
        ({k: v for k, v in KAFKA.items() if "servers" not in k}, ["properties.bootstrap.servers"]),
        ({**KAFKA, "scan.startup.mode": "earliest"}, ["'earliest-offset'"]),
        ({**KAFKA, "scan.startup.mode": "timestamp"}, ["'scan.startup.timestamp-millis' is missing"]),
        ({**KAFKA, "scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "0:1"}, ["partition:0,offset:42"]),
        ({**KAFKA, "scan.bounded.mode": "timestamp"}, ["'scan.bounded.timestamp-millis' is missing"]),
        ({**KAFKA, "key.fields": "a"}, ["needs 'key.format'"]),
        ({**KAFKA, "key.format": "json"}, ["needs 'key.fields'"]),
        ({**KAFKA, "key.format": "json", "key.fields": "z"}, ["'z' is not a physical column"]),
        ({**KAFKA, "key.format": "json", "key.fields": "a", "key.fields-prefix": "k_"}, ["does not start with it"]),
        ({**KAFKA, "key.format": "json", "key.fields": "a", "key.fields-prefix": "a"}, ["EXCEPT_KEY"]),
        ({**KAFKA, "value.fields-include": "EXCEPT_KEY"}, ["needs 'key.format'"]),
        ({**KAFKA, "format": "parquet"}, ["one of files"]),
        ({**KAFKA, "connector": "upsert-kafka"}, ["'format' is unknown", "value.format"]),
        ({"connector": "datagen", "rows-per-second": "0"}, ["above 0"]),
        ({"connector": "datagen", "fields.b.kind": "random"}, ["unknown column 'b'"]),
        ({"connector": "datagen", "fields.a.knd": "random"}, ["Did you mean 'fields.a.kind'?"]),
        ({"connector": "datagen", "fields.a.kind": "sequence"}, ["'fields.a.start' is missing"]),
        ({"connector": "datagen", "fields.a.kind": "sequence", "fields.a.start": "9", "fields.a.end": "1"}, ["than the end"]),
        ({"connector": "datagen", "fields.a.min": "x"}, ["a whole number"]),
        ({"connector": "datagen", "fields.a.min": "5", "fields.a.max": "4"}, ["larger than the maximum"]),
        ({"connector": "datagen", "fields.a.length": "4"}, ["does not apply"]),
        ({"connector": "datagen", "fields.a.null-rate": "2"}, ["from 0 to 1"]),
    ],
)  # fmt: skip
def test_wrong_options_of_sources(options: dict[str, str], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        source("a INT", options)
    for word in [*words, "default_catalog.default_database.t"]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"connector": "print", "print-identifer": "x"}, ["Did you mean 'print-identifier'?"]),
        ({"connector": "blackhole", "path": "x"}, ["'path' is unknown"]),
        ({**KAFKA, "sink.delivery-guarantee": "exactly-once"}, ["'sink.transactional-id-prefix'"]),
        ({**KAFKA, "sink.partitioner": "com.example.Mine"}, ["'round-robin'"]),
        ({**KAFKA, "topic": "a;b"}, ["several topics"]),
        (
            {**KAFKA, "sink.partitioner": "round-robin", "key.format": "json", "key.fields": "a"},
            ["keys are not specified"],
        ),
        ({**KAFKA, "format": "avro-confluent"}, ["'avro-confluent.url'", "missing"]),
        ({**KAFKA, "format": "debezium-json", "debezium-json.schema-include": "true"}, ["schema-include"]),
        ({**FILE, "format": "parquet", "auto-compaction": "true"}, ["auto-compaction"]),
        ({"connector": "redis", "command": "HSET"}, ["additional-key"]),
        ({"connector": "redis", "command": "INCR"}, ["'SET', 'HSET'"]),
        ({**KAFKA, "connector": "upsert-kafka"}, ["value.format"]),
    ],
)
def test_wrong_options_of_sinks(options: dict[str, str], words: list[str]) -> None:
    with pytest.raises(PenstockError) as caught:
        sink("a INT, b STRING", options)
    for word in words:
        assert word in str(caught.value)


def test_tables_that_only_read_or_write() -> None:
    with pytest.raises(UnsupportedOperation, match="only be used as a source"):
        sink("a INT", {"connector": "datagen"})
    for name in ("print", "blackhole", "redis"):
        with pytest.raises(UnsupportedOperation, match="only be used as a sink"):
            source("a INT", {"connector": name})
        assert find_connector({"connector": name}, PATH).metadata_columns({}) == {}


def test_values_are_typed() -> None:
    known = [
        Option("a", "duration", 5), Option("b", "memory"), Option("c", "list"), Option("d", "float"), Option("p.*"),
        Option("new", aliases=("old",)),
    ]  # fmt: skip
    given = {"connector": "x", "a": "2 min", "b": "1 kb", "c": "x; y", "d": "0.5", "p.q.r": "1", "old": "z"}
    values = OptionValues("t", "x", given, known)
    assert [values[name] for name in ("a", "b", "c", "d", "new")] == [120_000, 1024, ["x", "y"], 0.5, "z"]
    assert values.after("p.") == {"q.r": "1"}
    assert values.set == {"a", "b", "c", "d", "new"}
