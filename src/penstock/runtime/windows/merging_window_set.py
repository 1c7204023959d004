"""The windows of one key that may still merge, each with the window under which its contents are kept.

When windows merge, their contents go into the state of the earliest one; so a session that grows keeps its place in the
store, and only the set changes. Windows are namespaces here: tuples of plain values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

from penstock.runtime.state.backend import StateBackend
from penstock.state import ValueStateDescriptor
from penstock.time import MAX_WATERMARK
from penstock.types import Types
from penstock.windows import MergingWindowAssigner, TimeWindow, Window
from penstock.windows.assigner import window_type_of

Namespace = tuple[Any, ...]
Entry = tuple[Namespace, Namespace]  # a window, and the one under which its contents are kept

_ENTRIES = list[tuple[tuple[Any, ...], tuple[Any, ...]]]


class Merge(NamedTuple):
    """Windows that become one. `merged` are those of the set, the earliest first; a new window is not among them."""

    result: Namespace
    merged: list[Entry]
    takes_new: bool = True  # the new window is one of those that become one

    @property
    def changes_nothing(self) -> bool:
        """Whether the result is the one window that was there before."""
        return len(self.merged) == 1 and self.merged[0][0] == self.result


class WindowSet:
    """The set of the current key, as keyed state."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], backend: StateBackend) -> None:
        self._assigner = assigner
        self._type = window_type_of(assigner)
        self._by_cover = type(assigner).merge_windows is MergingWindowAssigner.merge_windows
        self._state = backend.handle(ValueStateDescriptor("__windows__", Types.of(_ENTRIES)))

    def merges(self, new: Namespace) -> list[Merge]:
        """What a new window makes merge; nothing has changed yet."""
        entries = self._state.value()
        if not entries:
            return []
        return merges_by_cover(entries, new) if self._by_cover else self._merges_by_assigner(entries, new)

    def apply(self, merge: Merge) -> Namespace:
        """Replaces the merged windows by their result; returns where its contents are kept."""
        gone = {window for window, _ in merge.merged}
        kept = merge.merged[0][1]
        self._write([e for e in self._state.value() if e[0] not in gone] + [(merge.result, kept)])
        return kept

    def add(self, window: Namespace) -> Namespace:
        """Adds a window that merges with none; returns where its contents are kept."""
        self._write([*(self._state.value() or ()), (window, window)])
        return window

    def kept_under(self, window: Namespace) -> Namespace | None:
        """Where a window's contents are kept; None when the window is not in the set."""
        for entry in self._state.value() or ():
            if entry[0] == window:
                kept: Namespace = entry[1]
                return kept
        return None

    def covering(self, window: Namespace) -> Entry | None:
        """The entry of a time window that a window has become part of: windows only grow."""
        if self._type is not TimeWindow:
            return None
        for entry in self._state.value() or ():
            if entry[0][0] <= window[0] and window[1] <= entry[0][1]:
                found: Entry = entry
                return found
        return None

    def entries(self) -> list[Entry]:
        """All entries, in order; whoever changes the list says so with `changed`."""
        entries: list[Entry] | None = self._state.value()
        return entries or []

    def changed(self, entries: list[Entry]) -> None:
        self._state.update(entries)

    def retire(self, window: Namespace) -> None:
        self._write([e for e in self._state.value() or () if e[0] != window])

    def _write(self, entries: list[Entry]) -> None:
        entries.sort()
        self._state.update(entries or None)

    def _merges_by_assigner(self, entries: list[Entry], new: Namespace) -> list[Merge]:
        known = dict(entries)
        heard = _Heard()
        self._assigner.merge_windows([self._type(*w) for w in {**known, new: new}], heard)
        merges = []
        for windows, result in heard.merges:
            namespaces = sorted(w.namespace() for w in windows)
            merged = [(w, known[w]) for w in namespaces if w in known]
            merges.append(Merge(result.namespace(), merged, new in namespaces))
        if new in known and not any(m.takes_new for m in merges):
            merges.append(Merge(new, [(new, known[new])]))
        return merges


class _Heard(MergingWindowAssigner.MergeCallback[Window]):
    """Keeps what an assigner says about merges."""

    def __init__(self) -> None:
        self.merges: list[tuple[list[Window], Window]] = []

    def merge(self, to_be_merged: Iterable[Window], merge_result: Window) -> None:
        self.merges.append((list(to_be_merged), merge_result))


def merges_by_cover(entries: list[Entry], new: Namespace) -> list[Merge]:
    """The merge of all windows that overlap or touch a new one. Those of a set are sorted and never touch each other.

    >>> merges_by_cover([((1, 6), (1, 6)), ((9, 14), (9, 14))], (6, 9))[0].result
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
