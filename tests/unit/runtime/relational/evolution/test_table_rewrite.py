"""Entries of state are rewritten for a changed query."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from penstock.runtime.relational.evolution.accumulator_change import FieldSource, SlotSource
from penstock.runtime.relational.evolution.table_rewrite import TableRewrite
from penstock.runtime.relational.keys import key_hashes
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.types.logical.kinds import BIGINT, INT, STRING

KEY, GROUP = pack(["a", 1]), b"\x00\x07"


def rewritten(change: TableRewrite, rest: bytes, value: bytes, now: int = 5) -> tuple[bytes, bytes]:
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(change), type=TableRewrite)  # workers read it from a file
    assert stored == change
    [(name, new)] = stored.rewrite([GROUP + KEY + rest], [value], now)
    return name, new


def test_keys_are_put_into_another_order() -> None:
    name, value = rewritten(TableRewrite("rows", key=(1, 0)), b"rest", b"value")
    assert (name, value) == (GROUP + pack([1, "a"]) + b"rest", b"value")


def test_the_hash_of_a_key_in_a_table_by_time_follows_the_key() -> None:
    old = bytes(8) + int(key_hashes([KEY])[0]).to_bytes(8, "big") + KEY
    [(name, _)] = TableRewrite("times", key=(1, 0)).rewrite([old], [b""], 0)
    new = pack([1, "a"])
    assert name == bytes(8) + int(key_hashes([new])[0]).to_bytes(8, "big") + new


@pytest.mark.parametrize(
    ("change", "value", "expected"),
    [
        (TableRewrite("rows", "row", columns=(1, -1, 0)), pack([1, "x"]), pack(["x", None, 1])),
        (TableRewrite("rows", "row", columns=(1,), skip=8), bytes(8) + pack([1, "x"]), bytes(8) + pack(["x"])),
        (
            TableRewrite("rows", "list of rows", columns=(1,)),
            pack([pack([1, "x"]), pack([2, "y"])]),
            pack([pack(["x"]), pack(["y"])]),
        ),
        (
            TableRewrite("rows", "rows with marks", columns=(1,)),
            pack([[pack([1, "x"]), True]]),
            pack([[pack(["x"]), True]]),
        ),
        (
            TableRewrite("rows", "groups", fields=(FieldSource(1), FieldSource(-1, pack(0)))),
            pack([3, [10, 20]]),
            pack([3, [20, 0]]),
        ),
        (
            TableRewrite(
                "times", "accumulators", fields=(FieldSource(0),), slots=(SlotSource(1), SlotSource(-1)), skip=1
            ),
            pack([5, [[b"a", 1, None]], [[b"b", 1, None]]]),
            pack([5, [[b"b", 1, None]], None]),
        ),
    ],
    ids=["row", "row after a time", "list", "marks", "groups", "windows"],
)
def test_values_are_rewritten(change: TableRewrite, value: bytes, expected: bytes) -> None:
    name = GROUP + KEY if change.kind == "rows" else bytes(16) + KEY
    [(_, new)] = change.rewrite([name], [value], 0)
    assert new == expected


def test_rows_of_a_join_are_part_of_the_name() -> None:
    name, _ = rewritten(TableRewrite("rows", "row in name", columns=(1,)), pack([1, "x"]), pack([1, 0, 0]))
    assert name == GROUP + KEY + pack(["x"])


def test_rows_of_a_rank_with_an_upsert_key() -> None:
    change = TableRewrite("rows", "ranked rows", columns=(1,), skip=-1)
    upsert = len(b"key").to_bytes(4, "big") + b"key"
    assert rewritten(change, b"sub", upsert + pack([1, "x"]))[1] == upsert + pack(["x"])
    assert rewritten(change, b"", b"facts")[1] == b"facts"


@pytest.mark.parametrize(
    ("bits", "mask", "expected"), [((1, 0), 1, 2), ((1, 0), 3, 3), ((-1, 0), 1, 2), ((-1, 1), 1, None)]
)
def test_bits_of_filters_move(bits: tuple[int, ...], mask: int, expected: int | None) -> None:
    change = TableRewrite("rows", "values of groups", slots=(SlotSource(-1), SlotSource(0, bits)))
    found: list[Any] = list(change.rewrite([GROUP + KEY + b"\x00v"], [pack([mask, None])], 0))
    if expected is None:
        assert found == []
    else:
        assert [(name, unpack(value)) for name, value in found] == [(GROUP + KEY + b"\x01v", [expected, None])]


def test_values_get_and_lose_the_time_of_their_writing() -> None:
    assert rewritten(TableRewrite("rows", stamps=(False, True)), b"", b"v", 7)[1] == (7).to_bytes(8, "big") + b"v"
    assert rewritten(TableRewrite("rows", stamps=(True, False)), b"", bytes(8) + b"v")[1] == b"v"
    assert rewritten(TableRewrite("rows", stamps=(True, True)), b"", b"12345678v")[1] == b"12345678v"


def test_blocks_of_rows_and_columns() -> None:
    types = (INT, STRING), (STRING, BIGINT)
    change = TableRewrite("rows", "block", columns=(1, 0), types=types)
    few = b"\x00" + pack([pack([1, "x"])])
    schema = pa.schema([("0", pa.int32()), ("1", pa.string())])
    many = (
        b"\x01"
        + pa.record_batch([pa.array([1, 2], pa.int32()), pa.array(["x", None])], schema).serialize().to_pybytes()
    )
    key, counter = GROUP + pack([1]), GROUP + pack([0])
    found = dict(change.rewrite([key, key + b"2", counter], [few, many, bytes(8)], 0))
    assert found[key] == b"\x00" + pack([pack(["x", 1])])
    assert found[counter] == bytes(8)
    new = pa.ipc.read_record_batch(
        pa.py_buffer(found[key + b"2"])[1:], pa.schema([("0", pa.string()), ("1", pa.int64())])
    )
    assert new.to_pydict() == {"0": ["x", None], "1": [1, 2]}
