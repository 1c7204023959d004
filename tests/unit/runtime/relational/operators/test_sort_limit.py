from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import SortLimitSpec
from penstock.types.logical.kinds import INT
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_table

_TYPES = (INT, INT)
_BY_SECOND = (SortKey(1),)

# Answers of Flink 2.3 to LIMIT queries, one row at a time.
_ANSWERS = {
    "3": """
        +I(1,5) +I(2,3) +I(3,5) -D(3,5) +I(4,4) -D(1,5) +I(5,3) -D(4,4) +I(6,1) -D(5,3) +I(8,None) -D(2,3) +I(9,0)
    """,
    "3o1": """
        +I(1,5) +I(3,5) -U(1,5) +U(4,4) -U(3,5) +U(1,5) +I(3,5) -U(4,4) +U(5,3) -U(1,5) +U(4,4) -U(3,5) +U(1,5) -U(5,3) +U(2,3)
        -U(4,4) +U(5,3) -U(1,5) +U(4,4) -U(4,4) +U(2,3) -U(2,3) +U(6,1) -U(5,3) +U(2,3) -U(2,3) +U(5,3) -U(6,1) +U(9,0) -U(2,3)
        +U(6,1) -U(5,3) +U(2,3) -U(2,3) +U(10,1)
    """,
    "none": """
        +I(1,5) +I(2,3) +I(3,5)
    """,
    "none-o": """
        +I(3,5) +I(4,4) +I(5,3)
    """,
    "1": """
        +I(1,5) -U(1,5) +U(2,3) -U(2,3) +U(6,1) -U(6,1) +U(8,None)
    """,
    "cdc-2": """
        +I(1,5) +I(2,3)
    """,
    "cdc-2o1": """
        +I(2,3) +I(3,4)
    """,
}
_INSERTS = [(1, 5), (2, 3), (3, 5), (4, 4), (5, 3), (6, 1), (7, 9), (2, 3), (8, None), (9, 0), (10, 1), (11, 3)]


def _spec(order: tuple[SortKey, ...], **more: Any) -> SortLimitSpec:
    return SortLimitSpec(input_types=_TYPES, output_types=_TYPES, order=order, **more)


_QUERIES = {
    "3": _spec(_BY_SECOND, end=3),
    "3o1": _spec(_BY_SECOND, start=1, end=4),
    "none": _spec((), end=3),
    "none-o": _spec((), start=2, end=5),
    "1": _spec(_BY_SECOND, end=1),
}


@pytest.mark.parametrize("name", _QUERIES)
def test_changelog_is_that_of_flink(name: str) -> None:
    slot, out = RelationalSlot(_QUERIES[name]), []
    for row in _INSERTS:
        out += slot.run([row])
        slot.restart()
    assert [f"{kind}({a},{b})" for kind, (a, b) in out] == _ANSWERS[name].split()


def test_removed_rows_are_replaced() -> None:
    slot = RelationalSlot(_spec((), end=2, insert_only=False))
    assert slot.run([(1, 1), (2, 2), (3, 3), (4, 4)]) == [("+I", (1, 1)), ("+I", (2, 2))]
    assert slot.run([("-D", (1, 1))]) == [("-D", (1, 1)), ("+I", (3, 3))]
    assert slot.run([("-D", (4, 4))]) == []


def test_without_a_limit_changes_pass() -> None:
    slot = RelationalSlot(_spec(_BY_SECOND, insert_only=False))
    changes = [("+I", (1, 2)), ("+I", (2, 1)), ("-U", (1, 2)), ("+U", (1, 0))]
    assert slot.run(changes) == changes
    assert slot.count_entries() == 0


def test_batch_mode_sorts_what_is_left() -> None:
    slot = RelationalSlot(_spec(_BY_SECOND, insert_only=False), in_batch_mode=True)
    changes = [("+I", (1, 2)), ("+I", (2, 1)), ("-U", (1, 2)), ("+U", (1, 0)), ("+I", (3, 0))]
    assert slot.run(changes) == [("+I", (1, 0)), ("+I", (3, 0)), ("+I", (2, 1))]
    limited = RelationalSlot(_spec(_BY_SECOND, start=1, end=3), in_batch_mode=True)
    assert limited.run([(1, 9), (2, 8), (3, 7), (4, 6)]) == [("+I", (3, 7)), ("+I", (2, 8))]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=14),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(0, 2),
    st.integers(0, 3) | st.none(),
    st.booleans(),
)
def test_result_does_not_depend_on_batches(
    events: list[tuple[int, int, bool]], sizes: list[int], skip: int, limit: int | None, ordered: bool
) -> None:
    rows: list[Row] = []
    changes: list[Change] = []
    for a, b, removes in events:
        if removes and rows:
            row = rows[a % len(rows)]
            rows.remove(row)
            changes.append(("-D", row))
        else:
            rows.append((a, b))
            changes.append(("+I", (a, b)))
    end = 2**62 if limit is None else skip + limit
    slot = RelationalSlot(_spec(_BY_SECOND if ordered else (), start=skip, end=end, insert_only=False))
    out, at = [], 0
    for size in itertools.cycle(sizes):
        if at >= len(changes):
            break
        out += slot.run(changes[at : at + size])
        at += size
        slot.restart()
    expected: dict[Row, int] = {}
    for row in (sorted(rows, key=lambda r: r[1]) if ordered else rows)[skip:end]:
        expected[row] = expected.get(row, 0) + 1
    assert final_table(out) == expected
