"""Lookup joins of rows and of changelogs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import StepContext
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.joins.lookup.matcher import LookupMatcher
from penstock.runtime.relational.joins.lookup.settings import CacheSettings, RetrySettings
from penstock.runtime.relational.specs.lookup import LookupJoinSpec, LookupSpec
from penstock.runtime.relational.steps.lookup import LookupJoinStep
from penstock.types.logical.kinds import BOOLEAN, INT, STRING
from tests.unit.runtime.relational.driver import RelationalSlot, from_changes, to_changes
from tests.unit.runtime.relational.joins.lookup.memory_table import MemoryTable, Rows

TYPES = (INT, STRING)
NOTHING: Any = np.zeros(0, np.int64)
CONTEXT = StepContext(lambda: NOTHING, lambda: 0, lambda: NOTHING)
NOT_EQUAL = Call("<>", (Column(1, STRING), Column(3, STRING)), BOOLEAN)


def make_spec(kind: Any = "INNER", condition: Expression | None = None, right: Expression | None = None) -> LookupSpec:
    return LookupSpec(
        left_keys=(Column(0, INT),),
        key_types=(INT,),
        read_types=TYPES,
        right_columns=(Column(0, INT), Column(1, STRING)),
        right_condition=right,
        condition=condition,
        kind=kind,
    )


def run(step: LookupJoinStep, rows: list[Any]) -> list[Any]:
    result = step.run(to_changes(rows, TYPES), CONTEXT)
    assert isinstance(result.rows, Changes)
    return from_changes(result.rows, TYPES + TYPES)


KEYED = st.tuples(st.one_of(st.none(), st.integers(0, 4)), st.sampled_from("ab"))


@given(
    st.lists(KEYED, min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), max_size=8),
    st.sampled_from(["INNER", "LEFT"]),
    st.booleans(),
    st.booleans(),
)
def test_it_is_a_join(rows: list[Any], table: Rows, kind: str, with_condition: bool, cached: bool) -> None:
    step = LookupJoinStep(
        make_spec(kind, NOT_EQUAL if with_condition else None), MemoryTable(table), CacheSettings() if cached else None
    )
    step.open()
    expected = []
    for row in rows:
        matches = [t for t in table if t[0] == row[0] and (not with_condition or t[1] != row[1])]
        expected += [("+I", (*row, *match)) for match in matches]
        if kind == "LEFT" and not matches:
            expected.append(("+I", (*row, None, None)))
    cut = len(rows) // 2
    assert run(step, rows[:cut]) + run(step, rows[cut:]) == expected


def test_a_batch_asks_once_for_distinct_keys() -> None:
    table = MemoryTable([(1, "x")])
    step = LookupJoinStep(make_spec(), table)
    step.open()
    run(step, [(2, "a"), (1, "b"), (None, "c"), (2, "d")])
    assert table.asked == [[2, 1]]


def test_the_cache_answers_for_known_keys() -> None:
    table = MemoryTable([(1, "x")])
    step = LookupJoinStep(make_spec(), table, CacheSettings())
    step.open()
    run(step, [(1, "a"), (2, "a")])
    table.rows = [(1, "y"), (2, "y"), (3, "y")]
    assert run(step, [(2, "b"), (3, "b"), (1, "b")]) == [("+I", (3, "b", 3, "y")), ("+I", (1, "b", 1, "x"))]
    assert table.asked == [[1, 2], [3]]


def test_a_condition_of_the_table_is_no_miss() -> None:
    right = Call("=", (Column(1, STRING), Literal("y", STRING)), BOOLEAN)
    step = LookupJoinStep(make_spec("LEFT", right=right), MemoryTable([(1, "x"), (1, "y")]))
    step.open()
    assert run(step, [(1, "a"), (2, "a")]) == [("+I", (1, "a", 1, "y")), ("+I", (2, "a", None, None))]


def test_misses_are_looked_up_again() -> None:
    table = MemoryTable([(1, "x")])
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            table.rows = [(1, "x"), (2, "y"), (2, "z")]

    matcher = LookupMatcher(make_spec(), table, retry=RetrySettings(3, 500), sleep=sleep)
    pairs = matcher.pairs(to_changes([(3, "a"), (2, "b"), (1, "c")], TYPES))
    assert table.asked == [[3, 2, 1], [3, 2], [3, 2], [3]]
    assert waits == [0.5] * 3
    assert pairs.left_at.tolist() == [1, 1, 2]
    assert pairs.right[1].take(pa.array(pairs.right_at)).to_pylist() == ["y", "z", "x"]


def test_a_step_travels_to_workers() -> None:
    step = LookupJoinStep(make_spec(), MemoryTable([(1, "x")]), CacheSettings())
    step.open()
    run(step, [(1, "a")])
    other = pickle.loads(pickle.dumps(step))
    other.open()
    assert run(other, [(1, "a")]) == [("+I", (1, "a", 1, "x"))]


def make_slot(table: MemoryTable, kind: Any = "INNER", ttl: int = 0) -> RelationalSlot:
    spec = LookupJoinSpec(
        input_types=TYPES,
        output_types=TYPES + TYPES,
        keys=(0,),
        insert_only=False,
        lookup=make_spec(kind),
        table=table,
        ttl=ttl,
    )
    return RelationalSlot(spec)  # type: ignore[arg-type]


def test_a_deletion_removes_what_the_insertion_found() -> None:
    table = MemoryTable([(1, "old"), (1, "older")])
    slot = make_slot(table, "LEFT")
    slot.run([(1, "a"), (2, "b")])
    table.rows = [(1, "new"), (2, "new")]
    slot.restart()
    changes = slot.run([("-U", (1, "a")), ("+U", (1, "c")), ("-D", (2, "b")), ("-D", (9, "unknown"))])
    assert changes == [
        ("-U", (1, "a", 1, "old")),
        ("-U", (1, "a", 1, "older")),
        ("+U", (1, "c", 1, "new")),
        ("-D", (2, "b", None, None)),
    ]
    assert table.asked[-1] == [1]
    slot.run([("-D", (1, "c"))])
    assert slot.count_entries() == 0


def test_what_was_found_expires() -> None:
    slot = make_slot(MemoryTable([(1, "x")]), ttl=1000)
    slot.run([(1, "a")], now=0)
    assert slot.run([("-D", (1, "a"))], now=1000) == []
