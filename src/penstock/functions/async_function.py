"""Functions that ask somebody else and wait: many calls of them are under way at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.functions.function import IN, OUT, Function
from penstock.functions.runtime_context import RuntimeContext

LOOKED_UP = TypeVar("LOOKED_UP", contravariant=True, default=Any)
ANSWER = TypeVar("ANSWER", covariant=True, default=Any)


class AsyncLife(Function):
    """A life cycle whose ends may be waited for: in the event loop in which the function runs."""

    async def async_open(self, runtime_context: RuntimeContext) -> None:
        """Called after `open`: makes clients that need a running event loop."""

    async def async_close(self) -> None:
        """Called before `close`."""


class AsyncFunction(AsyncLife, ABC, Generic[IN, OUT]):
    """Asks a service about an element; `AsyncDataStream` applies it."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> Iterable[OUT]:
        """The elements that come out for an element, as a list; an empty one for none."""

    def timeout(self, value: IN) -> Iterable[OUT] | Awaitable[Iterable[OUT]]:
        """The elements that come out when `async_invoke` has not come to its end in time; by default the call fails.

        It may be `async def`.
        """
        raise TimeoutError("the asynchronous call had not come to its end when its timeout had passed")


class AsyncLookup(AsyncLife, ABC, Generic[LOOKED_UP, ANSWER]):
    """Asks a service about a key; `cached_enrichment` keeps the answers."""

    @abstractmethod
    async def lookup(self, key: LOOKED_UP) -> ANSWER:
        """The answer for a key."""
