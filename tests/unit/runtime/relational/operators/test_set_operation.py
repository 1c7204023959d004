"""INTERSECT and EXCEPT of random changelogs, compared with the operation on the final tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.specs.operators import SetOperationSpec
from penstock.types.logical.kinds import STRING
from tests.unit.runtime.relational.driver import Change, RelationalSlot, final_table

STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.booleans(), st.sampled_from(["a", "b", None]), st.booleans()), max_size=15
)


@pytest.mark.parametrize("kind", ["INTERSECT", "EXCEPT"])
@pytest.mark.parametrize("every", [False, True])
@given(steps=STEPS)
def test_the_result_is_that_of_the_final_tables(
    kind: Any, every: bool, steps: list[tuple[int, bool, str | None, bool]]
) -> None:
    spec = SetOperationSpec(
        input_types=(STRING,), right_types=(STRING,), output_types=(STRING,), keys=(0,), kind=kind, all=every
    )
    slot = RelationalSlot(spec, input_types=[(STRING,), (STRING,)])
    tables: tuple[list[str | None], list[str | None]] = ([], [])
    changes: list[Change] = []
    for side, removes, value, restart in steps:
        if removes and value in tables[side]:
            tables[side].remove(value)
            change: Change = ("-D", (value,))
        else:
            tables[side].append(value)
            change = ("+I", (value,))
        changes += [c for c, _ in slot.run_inputs([[change], []] if side == 0 else [[], [change]])]
        if restart:
            slot.restart()
    left, right = Counter(tables[0]), Counter(tables[1])
    if kind == "INTERSECT":
        expected = left & right if every else Counter(left.keys() & right.keys())
    else:
        expected = left - right if every else Counter(left.keys() - right.keys())
    assert final_table(changes) == {(value,): count for value, count in expected.items()}
