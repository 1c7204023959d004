"""Logical types: text, parser, common types, Arrow types."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest

from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import LogicalType
from penstock.types.logical.text import TypeTextError, parse_type, summary

TEXTS = [
    "BOOLEAN",
    "TINYINT NOT NULL",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(38, 18)",
    "CHAR(3) NOT NULL",
    "VARCHAR(20)",
    "STRING",
    "BINARY(2)",
    "BYTES",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(9)",
    "TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
    "INTERVAL MONTH",
    "INTERVAL SECOND(3)",
    "ARRAY<INT NOT NULL>",
    "MULTISET<STRING>",
    "MAP<STRING NOT NULL, ARRAY<DOUBLE>>",
    "ROW<`a` INT, `b c` ROW<`x` DATE NOT NULL>> NOT NULL",
    "VARIANT",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_is_parsed_back(text: str) -> None:
    assert summary(parse_type(text)) == text


@pytest.mark.parametrize("text", TEXTS)
def test_types_travel_as_json(text: str) -> None:
    type_ = parse_type(text)
    assert msgspec.json.decode(msgspec.json.encode(type_), type=LogicalType) == type_
    assert isinstance(arrow_type(type_), pa.DataType)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["INT NOT NULL", "BIGINT"], "BIGINT"),
        (["BIGINT", "DECIMAL(5, 2)"], "DECIMAL(21, 2)"),
        (["DECIMAL(5, 2)", "FLOAT"], "DOUBLE"),
        (["CHAR(2)", "CHAR(2)"], "CHAR(2)"),
        (["CHAR(2)", "VARCHAR(5)"], "VARCHAR(5)"),
        (["TIMESTAMP(3)", "TIMESTAMP_LTZ(6)"], "TIMESTAMP_LTZ(6)"),
        (["NULL", "INT NOT NULL"], "INT"),
        (["ARRAY<INT>", "ARRAY<DOUBLE NOT NULL>"], "ARRAY<DOUBLE>"),
        (["ROW<a INT>", "ROW<b BIGINT>"], "ROW<`a` BIGINT>"),
        (["INT", "STRING"], None),
        (["BOOLEAN", "INT"], None),
    ],
)
def test_common_types(types: list[str], expected: str | None) -> None:
    found = common_type([parse_type(t) for t in types])
    assert (None if found is None else summary(found)) == expected


def test_a_wrong_text_is_refused() -> None:
    with pytest.raises(TypeTextError, match="FOO"):
        parse_type("ARRAY<FOO>")
