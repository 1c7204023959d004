"""The windows of one key that may still merge, each with its state window (as in Flink's MergingWindowSet).

The state window is the window whose state holds the contents. When windows merge, their contents move to the state window of
the earliest one. So the contents of a growing session stay where they are stored, and only the set changes. Windows are
represented by their namespaces, tuples of plain values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

from penstock.runtime.state.backend import KeyedStateStore
from penstock.state import ValueStateDescriptor
from penstock.time import MAX_WATERMARK
from penstock.types import Types
from penstock.windows import MergingWindowAssigner, TimeWindow, Window
from penstock.windows.assigner import get_window_type

Namespace = tuple[Any, ...]
Entry = tuple[Namespace, Namespace]  # a window and its state window

_ENTRIES = list[tuple[tuple[Any, ...], tuple[Any, ...]]]


class Merge(NamedTuple):
    """Windows that merge. `merged` are those of the set, earliest first. The new window is not among them."""

    result: Namespace
    merged: list[Entry]
    includes_new_window: bool = True  # whether the new window is part of the merge

    @property
    def is_noop(self) -> bool:
        """Whether the result is the same as the only merged window."""
        return len(self.merged) == 1 and self.merged[0][0] == self.result


class MergingWindowSet:
    """The merging windows of the current key, in keyed state."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], backend: KeyedStateStore) -> None:
        self._assigner = assigner
        self._type = get_window_type(assigner)
        self._merges_time_windows = type(assigner).merge_windows is MergingWindowAssigner.merge_windows
        self._state = backend.handle(ValueStateDescriptor("__windows__", Types.of(_ENTRIES)))

    def find_merges(self, new: Namespace) -> list[Merge]:
        """Returns the merges that a new window causes. Does not change the set."""
        entries = self._state.read()
        if not entries:
            return []
        if self._merges_time_windows:
            return find_time_window_merges(entries, new)
        return self._merges_by_assigner(entries, new)

    def apply(self, merge: Merge) -> Namespace:
        """Replaces the merged windows with their result. Returns the state window of the result."""
        replaced = {window for window, _ in merge.merged}
        state_window = merge.merged[0][1]
        self._write([e for e in self._state.read() if e[0] not in replaced] + [(merge.result, state_window)])
        return state_window

    def add_window(self, window: Namespace) -> Namespace:
        """Adds a window that does not merge. Returns its state window, which is the window itself."""
        self._write([*(self._state.read() or ()), (window, window)])
        return window

    def get_state_window(self, window: Namespace) -> Namespace | None:
        """Returns the state window of a window, or None if the window is not in the set."""
        for entry in self._state.read() or ():
            if entry[0] == window:
                state_window: Namespace = entry[1]
                return state_window
        return None

    def find_covering(self, window: Namespace) -> Entry | None:
        """Returns the entry of the time window that covers a window. Windows only grow, so it contains the merged window."""
        if self._type is not TimeWindow:
            return None
        for entry in self._state.read() or ():
            if entry[0][0] <= window[0] and window[1] <= entry[0][1]:
                covering: Entry = entry
                return covering
        return None

    def entries(self) -> list[Entry]:
        """Returns all entries in order. After changing the list, call `update_entries`."""
        entries: list[Entry] | None = self._state.read()
        return entries or []

    def update_entries(self, entries: list[Entry]) -> None:
        self._state.write(entries)

    def retire_window(self, window: Namespace) -> None:
        self._write([e for e in self._state.read() or () if e[0] != window])

    def _write(self, entries: list[Entry]) -> None:
        entries.sort()
        self._state.write(entries or None)

    def _merges_by_assigner(self, entries: list[Entry], new: Namespace) -> list[Merge]:
        state_windows = dict(entries)
        callback = _RecordingMergeCallback()
        self._assigner.merge_windows([self._type(*w) for w in {**state_windows, new: new}], callback)
        merges = []
        for windows, result in callback.merges:
            namespaces = sorted(w.namespace() for w in windows)
            merged = [(w, state_windows[w]) for w in namespaces if w in state_windows]
            merges.append(Merge(result.namespace(), merged, new in namespaces))
        if new in state_windows and not any(m.includes_new_window for m in merges):
            merges.append(Merge(new, [(new, state_windows[new])]))
        return merges


class _RecordingMergeCallback(MergingWindowAssigner.MergeCallback[Window]):
    """Records the merges that an assigner reports."""

    def __init__(self) -> None:
        self.merges: list[tuple[list[Window], Window]] = []

    def merge(self, to_be_merged: Iterable[Window], merge_result: Window) -> None:
        self.merges.append((list(to_be_merged), merge_result))


def find_time_window_merges(entries: list[Entry], new: Namespace) -> list[Merge]:
    """Returns the merge of all windows that overlap or touch a new one. The windows of a set are sorted and never touch.

    >>> find_time_window_merges([((1, 6), (1, 6)), ((9, 14), (9, 14))], (6, 9))[0].result
    (1, 14)
    """
    start, end = new
    last = first = bisect_right(entries, ((end, MAX_WATERMARK), ()))
    while first and entries[first - 1][0][1] >= start:
        first -= 1
    if first == last:
        return []
    touching = entries[first:last]
    return [Merge((min(start, touching[0][0][0]), max(end, touching[-1][0][1])), touching)]
