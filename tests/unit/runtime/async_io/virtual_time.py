"""Event loops whose clock advances only while they have nothing to do, so that delays and timeouts cost no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class VirtualClock:
    """The time of all event loops that a test starts."""

    def __init__(self) -> None:
        self.seconds = 0.0


class _VirtualTimeSelector(selectors.DefaultSelector):
    """Advances the clock to the next timer instead of waiting for it."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(None if timeout is None else 0)
        if timeout and not events:
            self._clock.seconds += timeout
        return events


class _VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(_VirtualTimeSelector(clock))
        self._clock = clock

    def time(self) -> float:
        return self._clock.seconds


@contextmanager
def virtual_time() -> Iterator[VirtualClock]:
    """New event loops use a virtual clock. It does not advance while a function blocks its loop."""
    clock = VirtualClock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "new_event_loop", lambda: _VirtualTimeLoop(clock))
        yield clock
