"""Asynchronous functions that return slowly, fail, or never return."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import penstock as ps

BLOCKED = threading.Event()  # ends the calls of Blocking


class Doubled(ps.AsyncFunction[int, int]):
    """Returns after some time; smaller numbers take longer."""

    def __init__(self, seconds: float = 0.01, most: int = 0) -> None:
        self.seconds = seconds
        self.most = most

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(self.seconds * (self.most - value if self.most else 1))
        return [value * 2]


class Watched(ps.AsyncFunction[int, tuple[int, int]]):
    """Returns each element with the maximum number of concurrent calls so far."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0

    async def async_invoke(self, value: int) -> list[tuple[int, int]]:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        return [(value, self.most)]


class Failing(ps.AsyncFunction[int, int]):
    """Raises for some elements."""

    def __init__(self, *bad: int) -> None:
        self.bad = bad

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        if value in self.bad:
            raise ConnectionError(f"no answer for {value}")
        return [value]


class Silent(ps.AsyncFunction[int, int]):
    """Never returns for some elements."""

    def __init__(self, *silent: int) -> None:
        self.silent = silent

    async def async_invoke(self, value: int) -> list[int]:
        if value in self.silent:
            await asyncio.Event().wait()
        return [value]


class Defaulting(Silent):
    """The same with a timeout function."""

    def timeout(self, value: int) -> list[int]:
        return [-value]


class AsyncDefaulting(Silent):
    """The same with an asynchronous timeout function."""

    async def timeout(self, value: int) -> list[int]:
        await asyncio.sleep(0.01)
        return [-value]


class Blocking(ps.AsyncFunction[int, int]):
    """Blocks the event loop for some elements, as no asynchronous function should."""

    def __init__(self, *bad: int) -> None:
        self.bad = bad

    async def async_invoke(self, value: int) -> list[int]:
        if value in self.bad:
            BLOCKED.wait(120)
        return [value]


class Uncancellable(ps.AsyncFunction[int, int]):
    """Ignores its cancellation."""

    async def async_invoke(self, value: int) -> list[int]:
        while True:
            try:
                await asyncio.sleep(0.2)
            except asyncio.CancelledError:
                continue


class Flaky(ps.AsyncFunction[int, int]):
    """Raises, then returns an empty list, then the number of calls."""

    def __init__(self, failures: int = 1, empty: int = 1) -> None:
        self.failures = failures
        self.empty = empty
        self.calls: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        calls = self.calls[value] = self.calls.get(value, 0) + 1
        if calls <= self.failures:
            raise ConnectionError("try again")
        return [] if calls <= self.failures + self.empty else [calls]

    def timeout(self, value: int) -> list[int]:
        return [-self.calls[value]]


class Echoing(ps.AsyncFunction[Any, Any]):
    """Returns its argument."""

    async def async_invoke(self, value: Any) -> Any:
        return value
