"""The known splits of the sources of a test."""

from __future__ import annotations

from collections.abc import Callable

from penstock.connectors.source import Source
from penstock.testing.pushed_source import PendingInput

FIRST_SPLIT = "0"


class KnownSplits:
    """The splits of each source: those that the source or the test declares, and those that elements were pushed to.

    >>> from penstock.testing import PushSource
    >>> splits = KnownSplits(lambda: [PushSource(["s0", "s1"]), PushSource()])
    >>> splits.default_split(0), splits.default_split(1)
    ('s0', '0')
    """

    def __init__(self, sources: Callable[[], list[Source]]) -> None:
        self._sources = sources  # a function, because sources may be added later
        self.known: dict[int, list[str]] = {}
        self._assumed: set[int] = set()  # sources without a split, which are assumed to have one

    def splits_of(self, source: int) -> list[str]:
        if source in self.known:
            return self.known[source]
        unread = self._sources()[source]
        return unread.splits(unread.initial())

    def default_split(self, source: int) -> str:
        """Returns the split for elements that are pushed without one."""
        return next(iter(self.splits_of(source)), FIRST_SPLIT)

    def declare(self, source: int, splits: list[str]) -> None:
        self.known[source] = list(dict.fromkeys([*self.splits_of(source), *splits]))

    def add_pushed(self, pending: PendingInput) -> None:
        """Adds the splits of a batch. A source without splits is assumed to have one, so event time waits for it."""
        for number in range(len(self._sources())):
            pushed = [split for source, split in pending.items if source == number]
            if number in self._assumed and pushed:
                self._assumed.discard(number)
                if FIRST_SPLIT not in pushed:
                    pending.ended.setdefault(number, []).append(FIRST_SPLIT)
            if not pushed and not self.splits_of(number):
                self._assumed.add(number)
                pushed = [FIRST_SPLIT]
            self.declare(number, pushed)
