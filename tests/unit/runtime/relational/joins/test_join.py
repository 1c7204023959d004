"""Joins of random changelogs, compared with the join of the final tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ElementError
from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.specs.operators import JoinSpec
from penstock.types.logical.kinds import BOOLEAN, INT, STRING
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_table

KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
LARGER = Call(">", (Column(1, INT), Column(3, INT)), BOOLEAN)


def make_slot(kind: Any, condition: Expression | None = None, **fields: Any) -> RelationalSlot:
    types = (STRING, INT)
    output = types if kind in ("SEMI", "ANTI") else types + types
    spec = JoinSpec(
        input_types=types,
        right_types=types,
        output_types=output,
        keys=(0,),
        right_keys=(0,),
        kind=kind,
        condition=condition,
        insert_only=False,
        **fields,
    )
    return RelationalSlot(spec, input_types=[types, types])


def model(kind: str, left: list[Row], right: list[Row], with_condition: bool) -> Counter[Row]:
    """The join of two tables."""

    def match(a: Row, b: Row) -> bool:
        equal = a[0] is not None and a[0] == b[0]
        return equal and (not with_condition or (a[1] is not None and b[1] is not None and a[1] > b[1]))

    pairs = [(a, b) for a in left for b in right if match(a, b)]
    if kind == "SEMI":
        return Counter(a for a in left if any(match(a, b) for b in right))
    if kind == "ANTI":
        return Counter(a for a in left if not any(match(a, b) for b in right))
    rows = [a + b for a, b in pairs]
    none = (None, None)
    if kind in ("LEFT", "FULL"):
        rows += [a + none for a in left if not any(match(a, b) for b in right)]
    if kind in ("RIGHT", "FULL"):
        rows += [none + b for b in right if not any(match(a, b) for a in left)]
    return Counter(rows)


ROWS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None]))
STEPS = st.lists(st.tuples(st.integers(0, 1), st.booleans(), ROWS, st.integers(0, 3)), max_size=20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_condition", [False, True])
@given(steps=STEPS)
def test_the_result_is_the_join_of_the_final_tables(
    kind: str, with_condition: bool, steps: list[tuple[int, bool, Row, int]]
) -> None:
    slot = make_slot(kind, LARGER if with_condition else None)
    tables: tuple[list[Row], list[Row]] = ([], [])
    changes: list[Change] = []
    batch: tuple[list[Change], list[Change]] = ([], [])
    ranks: tuple[list[int], list[int]] = ([], [])
    for number, (side, removes, row, cut) in enumerate(steps):
        if removes and row in tables[side]:
            tables[side].remove(row)
            batch[side].append(("-D", row))
        else:
            tables[side].append(row)
            batch[side].append(("+I", row))
        ranks[side].append(number)
        if cut == 0:
            changes += [change for change, _ in slot.run_inputs(batch, ranks=ranks)]
            batch, ranks = ([], []), ([], [])
        if cut == 1:
            slot.restart()
    changes += [change for change, _ in slot.run_inputs(batch, ranks=ranks)]
    assert final_table(changes) == dict(model(kind, *tables, with_condition))


def test_an_outer_join_removes_the_padded_row_first() -> None:
    slot = make_slot("LEFT")
    assert [c for c, _ in slot.run_inputs([[("a", 1)], []])] == [("+I", ("a", 1, None, None))]
    changes = [c for c, _ in slot.run_inputs([[], [("a", 7)]])]
    assert changes == [("-D", ("a", 1, None, None)), ("+I", ("a", 1, "a", 7))]
    changes = [c for c, _ in slot.run_inputs([[], [("-D", ("a", 7))]])]
    assert changes == [("-D", ("a", 1, "a", 7)), ("+I", ("a", 1, None, None))]


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [
        ("INNER", ["-U", "+U"], ["-U", "+U"]),
        ("LEFT", ["-D", "+I"], ["-U", "+I", "-D", "+I"]),
        ("RIGHT", ["-U", "+I", "-D", "+I"], ["-D", "+I"]),
    ],
)
def test_an_outer_join_turns_an_update_into_a_delete_and_an_insert(
    kind: str, left: list[str], right: list[str]
) -> None:
    """These are the kinds of Flink: only in an inner join do both versions of a row belong to an update of the result."""
    slot = make_slot(kind)
    slot.run_inputs([[("a", 1)], [("a", 7)]])
    changes = slot.run_inputs([[("-U", ("a", 1)), ("+U", ("a", 2))], []])
    assert [change[0] for change, _ in changes] == left
    changes = slot.run_inputs([[], [("-U", ("a", 7)), ("+U", ("a", 8))]])
    assert [change[0] for change, _ in changes] == right


def test_padded_rows_leave_before_all_joined_rows() -> None:
    slot = make_slot("LEFT")
    slot.run_inputs([[("a", 1), ("a", 2)], []])
    changes = [c for c, _ in slot.run_inputs([[], [("a", 7)]])]
    assert [kind for kind, _ in changes] == ["-D", "-D", "+I", "+I"]


def test_a_scalar_subquery_with_two_rows_is_an_error() -> None:
    slot = make_slot("LEFT", single=True)
    slot.run_inputs([[("a", 1)], [("a", 7)]])
    with pytest.raises(ElementError, match="more than one row"):
        slot.run_inputs([[], [("a", 8)]])


def test_state_expires() -> None:
    slot = make_slot("INNER", ttl=1000)
    slot.run_inputs([[("a", 1)], []], now=0)
    assert slot.run_inputs([[], [("a", 2)]], now=2000) == []
    assert [c for c, _ in slot.run_inputs([[("a", 3)], []], now=2500)] == [("+I", ("a", 3, "a", 2))]
