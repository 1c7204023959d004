"""MergingWindowSet: merges windows and returns their state windows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.runtime.windows.merging_window_set import Entry, MergingWindowSet, Namespace, find_time_window_merges
from penstock.windows import EventTimeSessionWindows, TimeWindow

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8)), max_size=12)


class CustomMerge(EventTimeSessionWindows):
    """Session windows with their own merge_windows, so the set calls the assigner."""

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        super().merge_windows(windows, callback)


def make_set(assigner: EventTimeSessionWindows) -> MergingWindowSet:
    backend = KeyedStateStore(Store(MemoryView()), StateTables(), "op", KeyTable(128))
    backend.set_key("a")
    return MergingWindowSet(assigner, backend)


def add(windows: MergingWindowSet, new: Namespace) -> Namespace:
    """Adds a window as the operator does. Returns its state window."""
    merges = windows.find_merges(new)
    if not merges:
        return windows.add_window(new)
    [merge] = merges
    return merge.merged[0][1] if merge.is_noop else windows.apply(merge)


@given(SPANS)
def test_windows_never_touch_and_cover_all_added_windows(spans: list[tuple[int, int]]) -> None:
    default, custom = make_set(EventTimeSessionWindows(5)), make_set(CustomMerge(5))
    for start, length in spans:
        new = (start, start + length)
        state_window = add(default, new)
        assert add(custom, new) == state_window
        assert default.entries() == custom.entries()
        covering = default.find_covering(new)
        assert covering is not None
        assert covering[1] == state_window == default.get_state_window(covering[0])
    entries = default.entries()
    assert all(a[0][1] < b[0][0] for a, b in itertools.pairwise(entries))


@given(SPANS, st.tuples(st.integers(0, 60), st.integers(0, 8)))
def test_all_touching_windows_are_merged(spans: list[tuple[int, int]], last: tuple[int, int]) -> None:
    windows = make_set(EventTimeSessionWindows(5))
    for start, length in spans:
        add(windows, (start, start + length))
    entries: list[Entry] = windows.entries()
    new = (last[0], last[0] + last[1])
    touching = [e for e in entries if e[0][0] <= new[1] and new[0] <= e[0][1]]
    merges = find_time_window_merges(entries, new)
    assert [m.merged for m in merges] == ([touching] if touching else [])
    if touching:
        assert merges[0].result == (min(new[0], touching[0][0][0]), max(new[1], touching[-1][0][1]))


def test_the_state_window_is_that_of_the_earliest_window() -> None:
    windows = make_set(EventTimeSessionWindows(5))
    assert add(windows, (9, 14)) == (9, 14)
    assert add(windows, (1, 6)) == (1, 6)
    assert add(windows, (5, 10)) == (1, 6)
    assert windows.entries() == [((1, 14), (1, 6))]
    assert add(windows, (-3, 2)) == (1, 6)
    assert windows.get_state_window((1, 14)) is None
    assert windows.find_covering((9, 14)) == ((-3, 14), (1, 6))
    windows.retire_window((-3, 14))
    assert windows.entries() == []
    assert windows.find_covering((9, 14)) is None
