"""Joins with the latest version of a key, compared with a dict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.specs.operators import ProcessingTimeJoinSpec
from penstock.types.logical.kinds import BOOLEAN, INT, STRING
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row

TYPES = (STRING, INT)
LARGER = Call(">", (Column(1, INT), Column(3, INT)), BOOLEAN)


def make_slot(kind: Any = "INNER", condition: Expression | None = None, **fields: Any) -> RelationalSlot:
    spec = ProcessingTimeJoinSpec(
        input_types=TYPES,
        right_types=TYPES,
        output_types=TYPES + TYPES,
        keys=(0,),
        right_keys=(0,),
        kind=kind,
        condition=condition,
        insert_only=False,
        **fields,
    )
    return RelationalSlot(spec, input_types=[TYPES, TYPES])


ROWS = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3))
STEPS = st.lists(
    st.tuples(st.booleans(), ROWS, st.sampled_from(["+I", "-U", "+U", "-D"]), st.integers(0, 3)), max_size=20
)


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
@pytest.mark.parametrize("with_condition", [False, True])
@given(steps=STEPS)
def test_each_row_is_joined_with_the_latest_version(
    kind: str, with_condition: bool, steps: list[tuple[bool, Row, str, int]]
) -> None:
    slot = make_slot(kind, LARGER if with_condition else None)
    latest: dict[Any, Row] = {}
    expected: list[Change] = []
    found: list[Change] = []
    batch: tuple[list[Change], list[Change]] = ([], [])
    ranks: tuple[list[int], list[int]] = ([], [])
    for number, (is_left, row, change, cut) in enumerate(steps):
        side = 0 if is_left else 1
        batch[side].append((change, row))
        ranks[side].append(number)
        if is_left:
            version = latest.get(row[0]) if row[0] is not None else None
            if version is not None and with_condition and not row[1] > version[1]:
                version = None
            if version is not None or kind == "LEFT":
                expected.append((change, row + (version or (None, None))))
        elif change == "-D":
            latest.pop(row[0], None)
        elif change != "-U":
            latest[row[0]] = row
        if cut == 0:
            found += [c for c, _ in slot.run_inputs(batch, ranks=ranks)]
            batch, ranks = ([], []), ([], [])
        if cut == 1:
            slot.restart()
    found += [c for c, _ in slot.run_inputs(batch, ranks=ranks)]
    assert found == expected


def test_versions_expire() -> None:
    slot = make_slot("LEFT", ttl=1000)
    slot.run_inputs([[], [("a", 1)]], now=0)
    assert [c for c, _ in slot.run_inputs([[("a", 5)], []], now=999)] == [("+I", ("a", 5, "a", 1))]
    assert [c for c, _ in slot.run_inputs([[("a", 5)], []], now=1000)] == [("+I", ("a", 5, None, None))]
