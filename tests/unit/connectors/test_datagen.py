"""DataGenSource: limits, sequences, nulls, and the same rows if a batch runs again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import StreamExecutionEnvironment
from penstock.connectors import DataGenSource, RandomField, SequenceField
from penstock.errors import ConfigError
from penstock.testing import Harness
from penstock.types import BasicType


def rows(source: DataGenSource, count: int, parallelism: int = 1) -> list[tuple[Any, ...]]:
    tasks = source.plan({"n": 0}, {"n": count}, parallelism)
    return [tuple(row) for task in tasks for chunk in source.read(task) for row in chunk.values]


def test_numbers_and_strings_are_within_their_limits() -> None:
    fields = {
        "small": RandomField(BasicType.INT, 3, 5),
        "any": RandomField(BasicType.BYTE),
        "real": RandomField(BasicType.DOUBLE, -1.0, 1.0),
        "text": RandomField(BasicType.STRING, length=7),
        "truth": RandomField(BasicType.BOOLEAN),
    }
    result = rows(DataGenSource(fields, seed=1), 3000)
    assert {row[0] for row in result} == {3, 4, 5}
    assert {row[1] for row in result} == set(range(-128, 128))
    assert all(-1 <= row[2] <= 1 for row in result)
    assert all(len(row[3]) == 7 and set(row[3]) <= set("0123456789abcdef") for row in result)
    assert {row[4] for row in result} == {True, False}
    assert DataGenSource(fields).row_type().fits([])


def test_a_sequence_ends_the_source() -> None:
    source = DataGenSource({"n": SequenceField(5, 9), "x": RandomField(BasicType.INT)}, number_of_rows=100)
    assert (source.bounded, source.count) == (True, 5)
    assert [row[0] for row in rows(source, 5)] == [5, 6, 7, 8, 9]
    assert not DataGenSource({"x": RandomField(BasicType.INT)}).bounded


def test_null_rate() -> None:
    result = rows(DataGenSource({"x": RandomField(BasicType.INT, null_rate=0.25)}, seed=3), 4000)
    assert 800 < sum(row[0] is None for row in result) < 1200


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 5000), st.integers(1, 7), st.integers(0, 2**63))
def test_rows_do_not_depend_on_the_tasks(count: int, parallelism: int, seed: int) -> None:
    fields = {"x": RandomField(BasicType.LONG), "s": RandomField(BasicType.STRING, length=3)}
    some = min(count, 50)
    all_rows = rows(DataGenSource(fields, seed=seed), some)
    assert rows(DataGenSource(fields, seed=seed), count, parallelism)[:some] == all_rows


def test_a_resumed_job_reads_the_same_rows(tmp_path: Path) -> None:
    first, second = (DataGenSource({"x": RandomField(BasicType.LONG)}) for _ in range(2))
    assert rows(first, 5) != rows(second, 5)
    first.attach(str(tmp_path))
    second.attach(str(tmp_path))
    assert rows(first, 5) == rows(second, 5)


def test_row_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("penstock.connectors.collection.time.monotonic", lambda: clock[0])
    source = DataGenSource({"x": RandomField(BasicType.INT)}, rows_per_second=5)
    assert source.latest({"n": 0}) == {"n": 5}, "the rows of the first second are emitted immediately"
    clock[0] += 0.5
    assert source.latest({"n": 5}) == {"n": 7}
    clock[0] += 10
    assert source.latest({"n": 7}) == {"n": 57}


def test_in_a_job() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGenSource({"n": SequenceField(1, 3)}, rows_per_second=1_000_000)
    numbers = env.from_source(source, type_info=source.row_type()).map(lambda row: row.n * 2)
    harness = Harness(env)
    result = harness.collect(numbers)
    harness.run()
    assert sorted(result) == [2, 4, 6]


@pytest.mark.parametrize(
    "field",
    [
        RandomField(BasicType.INT, 2, 1),
        RandomField(BasicType.INT, null_rate=2.0),
        RandomField(BasicType.STRING, length=-1),
        SequenceField(2, 1),
    ],
)
def test_invalid_fields_are_rejected(field: RandomField | SequenceField) -> None:
    with pytest.raises(ConfigError, match="Field 'x'"):
        DataGenSource({"x": field})
