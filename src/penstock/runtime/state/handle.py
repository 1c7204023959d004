"""The base class of handles that read and write the entries of one state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.runtime.state.cell import Cell
from penstock.runtime.state.codec import Codec
from penstock.runtime.state.store import Store


class StateHandle(ABC):
    """Decodes values when they are first used in a batch, and writes changes at the end of the batch.

    With a cache, decoded values outlive the batch (the hashmap state backend). `clear_cache` must be called if another worker
    has processed the slot in the meantime.
    """

    __slots__ = ("_cache", "_cell", "_changeable", "_codec", "_normal", "_store", "_table")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        self._store = store
        self._table = table
        self._cell = cell
        self._codec = codec
        self._normal = codec.normal
        # Whether a change in place can give a value a form that differs from the stored one.
        self._changeable = not codec.immutable and codec.schema not in ("pickle", "ttl:pickle")
        self._cache: dict[Any, Any] | None = {} if cached else None

    @property
    def table(self) -> bytes:
        """The table number, with which the keys of all entries start."""
        return self._table

    @abstractmethod
    def flush(self) -> None:
        """Writes the changes of the batch to the store and ends the batch."""

    @abstractmethod
    def _end_batch(self) -> None:
        """Drops the decoded values of the batch."""

    def discard_batch(self) -> None:
        """Drops the batch without writing, and the cache, whose values the batch may have changed in place."""
        self._end_batch()
        self.clear_cache()

    def clear_cache(self) -> None:
        if self._cache is not None:
            self._cache.clear()
