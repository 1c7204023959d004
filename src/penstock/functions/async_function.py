"""Asynchronous functions. Many of their calls run concurrently."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.functions.function import IN, OUT, Function
from penstock.functions.runtime_context import RuntimeContext

LOOKUP_KEY = TypeVar("LOOKUP_KEY", contravariant=True, default=Any)
LOOKUP_RESULT = TypeVar("LOOKUP_RESULT", covariant=True, default=Any)


class AsyncLifecycle(Function):
    """A function with asynchronous setup and cleanup. Both run in the event loop of the calls."""

    async def async_open(self, runtime_context: RuntimeContext) -> None:
        """Called after `open`. Create clients that need a running event loop here."""

    async def async_close(self) -> None:
        """Called before `close`. Close the clients here."""


class AsyncFunction(AsyncLifecycle, ABC, Generic[IN, OUT]):
    """Calls an external service for each element. Apply it with `AsyncDataStream`.

    >>> class Enrich(AsyncFunction[str, str]):
    ...     async def async_invoke(self, value: str) -> Iterable[str]:
    ...         return [value.upper()]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> Iterable[OUT]:
        """Called for each element. Returns the elements to emit, as a list that may be empty."""

    def timeout(self, value: IN) -> Iterable[OUT] | Awaitable[Iterable[OUT]]:
        """Called when `async_invoke` has not finished within the timeout. Returns the elements to emit.

        By default it raises TimeoutError. It may be `async def`.
        """
        raise TimeoutError("the asynchronous call did not finish within its timeout")


class AsyncLookup(AsyncLifecycle, ABC, Generic[LOOKUP_KEY, LOOKUP_RESULT]):
    """Looks up a key in an external service. `cached_enrichment` caches the results."""

    @abstractmethod
    async def lookup(self, key: LOOKUP_KEY) -> LOOKUP_RESULT:
        """Returns the result for a key. Called when the cache has no valid entry for the key."""
