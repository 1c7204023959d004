"""Services that answer slowly, wrongly, or never."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import penstock as ps


class Doubled(ps.AsyncFunction[int, int]):
    """Answers after a time; the more urgent the number, the later."""

    def __init__(self, seconds: float = 0.01, most: int = 0) -> None:
        self.seconds = seconds
        self.most = most

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(self.seconds * (self.most - value if self.most else 1))
        return [value * 2]


class Watched(ps.AsyncFunction[int, tuple[int, int]]):
    """Gives each element with how many calls were under way at most when it was answered."""

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
    """Raises on some elements, and answers the others."""

    def __init__(self, *bad: int) -> None:
        self.bad = bad

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        if value in self.bad:
            raise ConnectionError(f"no answer for {value}")
        return [value]


class Silent(ps.AsyncFunction[int, int]):
    """Never answers for some elements."""

    def __init__(self, *silent: int) -> None:
        self.silent = silent

    async def async_invoke(self, value: int) -> list[int]:
        if value in self.silent:
            await asyncio.Event().wait()
        return [value]


class Defaulting(Silent):
    """A silent service with a default."""

    def timeout(self, value: int) -> list[int]:
        return [-value]


class AsyncDefaulting(Silent):
    """The same, with a default that has to be waited for."""

    async def timeout(self, value: int) -> list[int]:
        await asyncio.sleep(0.01)
        return [-value]


class Sleepy(ps.AsyncFunction[int, int]):
    """Holds the event loop on some elements, as no asynchronous function should."""

    def __init__(self, *bad: int) -> None:
        self.bad = bad

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        if value in self.bad:
            time.sleep(4)
        return [value]


class Deaf(ps.AsyncFunction[int, int]):
    """Does not hear that it was cancelled."""

    async def async_invoke(self, value: int) -> list[int]:
        while True:
            try:
                await asyncio.sleep(0.2)
            except asyncio.CancelledError:
                continue


class Flaky(ps.AsyncFunction[int, int]):
    """Raises, then gives nothing, then answers; the answer says how many calls it took."""

    def __init__(self, failures: int = 1, empty: int = 1) -> None:
        self.failures = failures
        self.empty = empty
        self.asked: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        asked = self.asked[value] = self.asked.get(value, 0) + 1
        if asked <= self.failures:
            raise ConnectionError("try again")
        return [] if asked <= self.failures + self.empty else [asked]

    def timeout(self, value: int) -> list[int]:
        return [-self.asked[value]]


class Giving(ps.AsyncFunction[Any, Any]):
    """Gives back what it got, whatever it is."""

    async def async_invoke(self, value: Any) -> Any:
        return value
