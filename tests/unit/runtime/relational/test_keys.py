"""The bytes of keys are stored in savepoints, so they must never change."""

from __future__ import annotations

import datetime

import msgspec
import pyarrow as pa
import pytest

from penstock.runtime.relational.keys import decode_values, encode_keys
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    STRING,
    DateType,
    LogicalType,
    TimestampType,
    TimeType,
)


@pytest.mark.parametrize(
    ("type_", "value", "packed"),
    [
        (INT, -5, -5),
        (BIGINT, 2**63 - 1, 2**63 - 1),
        (BIGINT, None, None),
        (STRING, "é", "é"),
        (BYTES, b"\x00\xff", b"\x00\xff"),
        (BOOLEAN, True, 1),
        (DOUBLE, -0.0, 0.0),
        (DateType(), datetime.date(1970, 1, 3), 2),
        (TimeType(), datetime.time(0, 0, 1), 1000),
        (TimestampType(3), datetime.datetime(1970, 1, 1, 0, 0, 1), 1_000_000_000),
    ],
)
def test_bytes_of_a_key(type_: LogicalType, value: object, packed: object) -> None:
    column = pa.array([value], arrow_type(type_))
    encoded = encode_keys([column, column], [type_, type_], 1)
    assert encoded == [msgspec.msgpack.encode([packed, packed])]
    assert decode_values(encoded, [type_, type_])[0].to_pylist() == [value]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_have_one_encoding_alone_and_beside_large_ones(unit: str) -> None:
    type_ = TimestampType({"ms": 3, "us": 6, "ns": 9}[unit])
    largest = (2**63 - 1) // {"ms": 10**6, "us": 10**3, "ns": 1}[unit]
    values = [0, -1, -largest, largest - 1, largest, None, 7]
    beyond = [] if unit == "ns" else [largest + 1, -largest - 2]
    together = encode_keys([pa.array(values + beyond, pa.timestamp(unit))], [type_], len(values + beyond))
    alone = [encode_keys([pa.array([v], pa.timestamp(unit))], [type_], 1)[0] for v in values + beyond]
    assert together == alone
    assert len(set(alone)) == len(alone)
