"""The set of windows that may merge."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.runtime.window_set import Entry, Namespace, WindowSet, merges_by_cover
from penstock.windows import EventTimeSessionWindows, TimeWindow

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8)), max_size=12)


class ByRules(EventTimeSessionWindows):
    """The rules of sessions, but said by the assigner itself."""

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        super().merge_windows(windows, callback)


def set_of(assigner: EventTimeSessionWindows) -> WindowSet:
    backend = StateBackend(Store(MemoryBase()), Tables(), "op", KeyTable(128))
    backend.set_key("a")
    return WindowSet(assigner, backend)


def put(windows: WindowSet, new: Namespace) -> Namespace:
    """Adds a window as the operator does; returns where its contents are kept."""
    merges = windows.merges(new)
    if not merges:
        return windows.add(new)
    [merge] = merges
    return merge.merged[0][1] if merge.changes_nothing else windows.apply(merge)


@given(SPANS)
def test_windows_of_a_set_never_touch_and_cover_all_that_was_added(spans: list[tuple[int, int]]) -> None:
    by_cover, by_rules = set_of(EventTimeSessionWindows(5)), set_of(ByRules(5))
    for start, length in spans:
        new = (start, start + length)
        kept = put(by_cover, new)
        assert put(by_rules, new) == kept
        assert by_cover.entries() == by_rules.entries()
        around = by_cover.covering(new)
        assert around is not None
        assert around[1] == kept == by_cover.kept_under(around[0])
    entries = by_cover.entries()
    assert all(a[0][1] < b[0][0] for a, b in itertools.pairwise(entries))


@given(SPANS, st.tuples(st.integers(0, 60), st.integers(0, 8)))
def test_the_merge_is_that_of_all_touching_windows(spans: list[tuple[int, int]], last: tuple[int, int]) -> None:
    windows = set_of(EventTimeSessionWindows(5))
    for start, length in spans:
        put(windows, (start, start + length))
    entries: list[Entry] = windows.entries()
    new = (last[0], last[0] + last[1])
    touching = [e for e in entries if e[0][0] <= new[1] and new[0] <= e[0][1]]
    merges = merges_by_cover(entries, new)
    assert [m.merged for m in merges] == ([touching] if touching else [])
    if touching:
        assert merges[0].result == (min(new[0], touching[0][0][0]), max(new[1], touching[-1][0][1]))


def test_contents_stay_with_the_earliest_window() -> None:
    windows = set_of(EventTimeSessionWindows(5))
    assert put(windows, (9, 14)) == (9, 14)
    assert put(windows, (1, 6)) == (1, 6)
    assert put(windows, (5, 10)) == (1, 6)
    assert windows.entries() == [((1, 14), (1, 6))]
    assert put(windows, (-3, 2)) == (1, 6)
    assert windows.kept_under((1, 14)) is None
    assert windows.covering((9, 14)) == ((-3, 14), (1, 6))
    windows.retire((-3, 14))
    assert windows.entries() == []
    assert windows.covering((9, 14)) is None
