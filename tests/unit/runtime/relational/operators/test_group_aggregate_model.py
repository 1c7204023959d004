"""GROUP BY equals a plain model: exactly for single rows, and in the final table for any batches and restarts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.operators import GroupAggregateSpec
from tests.unit.runtime.relational.aggregates.aggregate_model import (
    CALLS,
    KEY,
    TYPES,
    GroupModel,
    changelogs,
    comparable,
    cut,
)
from tests.unit.runtime.relational.driver import Change, RelationalSlot, final_table


def _pair(draw: Any, keys: tuple[int, ...], insert_only: bool) -> tuple[RelationalSlot, GroupModel]:
    """Returns an operator with some of the calls, and its model."""
    calls = tuple(draw(st.lists(st.sampled_from(CALLS), max_size=3, unique=True)))
    output = (*(TYPES[i] for i in keys), *(c.type for c in calls))
    spec = GroupAggregateSpec(input_types=TYPES, keys=keys, calls=calls, output_types=output, insert_only=insert_only)
    return RelationalSlot(spec), GroupModel(calls, lambda row: tuple(row[i] for i in keys))


def _plain(changes: list[Change]) -> list[Change]:
    return [(kind, comparable(row)) for kind, row in changes]


@pytest.mark.parametrize("insert_only", [True, False])
@pytest.mark.parametrize("keys", [(KEY,), ()])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_single_rows_give_the_changelog_of_the_model(keys: tuple[int, ...], insert_only: bool, data: Any) -> None:
    slot, model = _pair(data.draw, keys, insert_only)
    for change in data.draw(changelogs(removals=not insert_only, largest=12)):
        if data.draw(st.booleans()):
            slot.restart()
        assert _plain(slot.run([change])) == model.run(change)


@pytest.mark.parametrize("insert_only", [True, False])
@pytest.mark.parametrize("keys", [(KEY,), ()])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_batches_give_the_table_of_the_model(keys: tuple[int, ...], insert_only: bool, data: Any) -> None:
    slot, model = _pair(data.draw, keys, insert_only)
    found: list[Change] = []
    for batch in cut(data.draw, data.draw(changelogs(removals=not insert_only, largest=20))):
        if data.draw(st.booleans()):
            slot.restart()
        found += _plain(slot.run(batch))
        for change in batch:
            model.run(change)
        assert final_table(found) == model.table()
