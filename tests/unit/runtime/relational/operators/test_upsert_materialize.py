from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.runtime.relational.specs.operators import UpsertMaterializeSpec
from penstock.types.logical.kinds import INT, STRING
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_upserts

_TYPES = (INT, STRING, INT)  # primary key, upsert key, value


def _spec(**more: Any) -> UpsertMaterializeSpec:
    return UpsertMaterializeSpec(input_types=_TYPES, output_types=_TYPES, keys=(0,), insert_only=False, **more)


def _each(spec: UpsertMaterializeSpec, changes: list[Change]) -> str:
    slot, out = RelationalSlot(spec), []
    for change in changes:
        out += slot.run([change])
        slot.restart()
    return " ".join(f"{kind}{row[1]}{row[2]}" for kind, row in out)


def test_newest_row_is_visible() -> None:
    changes: list[Change] = [
        ("+I", (1, "a", 1)),
        ("+I", (1, "b", 2)),
        ("-U", (1, "a", 1)),
        ("+U", (1, "c", 3)),
        ("-D", (1, "c", 3)),
        ("-D", (1, "x", 9)),
        ("-D", (1, "b", 2)),
        ("+I", (1, "d", 4)),
    ]
    assert _each(_spec(), changes) == "+Ia1 +Ub2 +Uc3 +Ub2 -Db2 +Id4"


def test_upsert_key_replaces_in_place() -> None:
    changes: list[Change] = [
        ("+I", (1, "a", 1)),
        ("+I", (1, "b", 2)),
        ("+U", (1, "b", 3)),
        ("-D", (1, "b", None)),
        ("-D", (1, "a", None)),
    ]
    assert _each(_spec(upsert_key=(1,)), changes) == "+Ia1 +Ub2 +Ub3 +Ua1 -DaNone"


def test_conflicts() -> None:
    rows: list[Change] = [("+I", (1, "a", 1)), ("+I", (1, "b", 2))]
    assert RelationalSlot(_spec(conflict="nothing")).run(rows) == [("+I", (1, "a", 1))]
    with pytest.raises(StateError, match=r"2 rows with the primary key \(1,\)"):
        RelationalSlot(_spec(conflict="error")).run(rows)
    moved: list[Change] = [*rows, ("-D", (1, "a", 1))]
    assert RelationalSlot(_spec(conflict="error")).run(moved) == [("+I", (1, "b", 2))]


def test_time_to_live() -> None:
    slot = RelationalSlot(_spec(ttl=100))
    assert slot.run([(1, "a", 1)], now=0) == [("+I", (1, "a", 1))]
    assert slot.run([("-D", (1, "a", 1))], now=100) == [("-D", (1, "a", 1))]
    assert slot.count_entries() == 0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.integers(0, 2), st.booleans()), max_size=14),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.booleans(),
)
def test_result_does_not_depend_on_batches(events: list[Any], sizes: list[int], has_key: bool) -> None:
    live: list[Row] = []
    changes: list[Change] = []
    for *values, removes in events:
        row = tuple(values)
        if removes and live:
            row = live[row[2] % len(live)]
            live.remove(row)
            changes.append(("-D", row))
            continue
        same = [i for i, other in enumerate(live) if has_key and other[:2] == row[:2]]
        changes.append(("+U" if same else "+I", row))
        if same:
            live[same[0]] = row
        else:
            live.append(row)
    slot, out, at = RelationalSlot(_spec(upsert_key=(1,) if has_key else ())), [], 0
    for size in itertools.cycle(sizes):
        if at >= len(changes):
            break
        out += slot.run(changes[at : at + size])
        at += size
        slot.restart()
    assert final_upserts(out, lambda row: row[0]) == {row[0]: row for row in live}
