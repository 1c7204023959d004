"""A source of random keys and a function that updates their state, for the benchmarks of large state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import penstock as ps
from penstock.connectors import Chunk
from penstock.connectors.collection import CountedSource

PAYLOAD = 64


class TouchedKeys(CountedSource):
    """Reads all keys once, then random keys. Subclasses define the size of a batch."""

    def __init__(self, keys: int, events: int | None) -> None:
        super().__init__(None if events is None else keys + events)
        self.keys = keys

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        keys = self.keys
        # A multiplicative hash returns pseudo-random keys, which are the same in every run and in a repeated batch.
        yield Chunk("0", low, [i if i < keys else (i * 11400714819323198485 >> 20) % keys for i in range(low, high)])


class UpdateCounter(ps.KeyedProcessFunction):
    """Stores a counter and a payload for each key."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.counter = runtime_context.get_state(
            ps.ValueStateDescriptor("counter", ps.Types.TUPLE([ps.Types.LONG(), ps.Types.STRING()]))
        )

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        counter = self.counter.value()
        count = 1 if counter is None else counter[0] + 1
        self.counter.update((count, f"{value:0{PAYLOAD}d}"))
        yield value, count
