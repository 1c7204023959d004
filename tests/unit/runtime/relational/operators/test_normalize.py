from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.operators import NormalizeSpec
from penstock.types.logical.kinds import INT, STRING
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_table, final_upserts

_TYPES = (STRING, INT, STRING)


def _spec(**more: Any) -> NormalizeSpec:
    return NormalizeSpec(input_types=_TYPES, output_types=_TYPES, keys=(0,), insert_only=False, **more)


def test_upserts_become_a_changelog() -> None:
    """The rows of Flink's test of an upsert source without a filter."""
    slot = RelationalSlot(_spec())
    given_ = [
        ("+I", ("one", 1, "a")),
        ("+U", ("one", 2, "bb")),
        ("+I", ("three", 3, "ccc")),
        ("+U", ("three", 3, "ccc")),
        ("+I", ("one", 4, "aaaa")),
        ("+U", ("one", 4, "aaaa")),
        ("-D", ("three", None, None)),
        ("-D", ("two", 1, "x")),
        ("+U", ("two", 2, "y")),
    ]
    out = []
    for change in given_:
        out += slot.run([change])
        slot.restart()
    assert out == [
        ("+I", ("one", 1, "a")),
        ("-U", ("one", 1, "a")),
        ("+U", ("one", 2, "bb")),
        ("+I", ("three", 3, "ccc")),
        ("-U", ("one", 2, "bb")),
        ("+U", ("one", 4, "aaaa")),
        ("-D", ("three", 3, "ccc")),
        ("+I", ("two", 2, "y")),
    ]


def test_time_to_live_and_update_before() -> None:
    row = ("a", 1, "x")
    slot = RelationalSlot(_spec(ttl=100, update_before=False))
    assert slot.run([row], now=0) == [("+I", row)]
    assert slot.run([row], now=50) == [("+U", row)]  # so that later operators keep their state, too
    assert slot.run([("-D", row)], now=150) == []
    slot.run(now=200)
    assert slot.count_entries() == 0


_CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["+I", "+U", "-U", "-D"]), st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.just("x"))
    ),
    max_size=14,
)


@settings(deadline=None)
@given(_CHANGES, st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_result_does_not_depend_on_batches(changes: list[Change], sizes: list[int]) -> None:
    slot, out, at = RelationalSlot(_spec()), [], 0
    for size in itertools.cycle(sizes):
        if at >= len(changes):
            break
        out += slot.run(changes[at : at + size])
        at += size
        slot.restart()
    expected: dict[Any, Row] = final_upserts(changes, lambda row: row[0])
    assert final_table(out) == dict.fromkeys(expected.values(), 1)
