"""The splits of a test's sources, as far as they are known."""

from __future__ import annotations

from collections.abc import Callable

from penstock.connectors.source import Source
from penstock.testing.push import Inbox

FIRST_SPLIT = "0"


class KnownSplits:
    """Which splits each source has: those that it or the test declares, and those that were pushed to.

    >>> from penstock.testing import PushSource
    >>> splits = KnownSplits(lambda: [PushSource(["s0", "s1"]), PushSource()])
    >>> splits.default(0), splits.default(1)
    ('s0', '0')
    """

    def __init__(self, sources: Callable[[], list[Source]]) -> None:
        self._sources = sources  # asked again and again: a pipeline may still grow
        self.known: dict[int, list[str]] = {}
        self._assumed: set[int] = set()  # sources whose one split is our guess

    def of(self, source: int) -> list[str]:
        if source in self.known:
            return self.known[source]
        asked = self._sources()[source]
        return asked.splits(asked.initial())

    def default(self, source: int) -> str:
        """Where an element is pushed to that names no split."""
        return next(iter(self.of(source)), FIRST_SPLIT)

    def declare(self, source: int, splits: list[str]) -> None:
        self.known[source] = list(dict.fromkeys([*self.of(source), *splits]))

    def meet(self, inbox: Inbox) -> None:
        """Learns of a batch's splits. A source with none that was not pushed to is assumed to have one: time waits for it."""
        for number in range(len(self._sources())):
            pushed = [split for source, split in inbox.items if source == number]
            if number in self._assumed and pushed:
                self._assumed.discard(number)
                if FIRST_SPLIT not in pushed:
                    inbox.ended.setdefault(number, []).append(FIRST_SPLIT)
            if not pushed and not self.of(number):
                self._assumed.add(number)
                pushed = [FIRST_SPLIT]
            self.declare(number, pushed)
