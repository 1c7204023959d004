"""Random keys that are touched again and again: what the benchmarks of large state run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import penstock as ps
from penstock.connectors import Chunk
from penstock.connectors.collection import CountedSource

PAYLOAD = 64


class TouchedKeys(CountedSource):
    """All keys once, then random ones. How many are read at a time is up to a subclass."""

    def __init__(self, keys: int, events: int | None) -> None:
        super().__init__(None if events is None else keys + events)
        self.keys = keys

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        keys = self.keys
        # A multiplicative scramble: random keys, the same ones in every run and when a batch runs again.
        yield Chunk("0", low, [i if i < keys else (i * 11400714819323198485 >> 20) % keys for i in range(low, high)])


class Touch(ps.KeyedProcessFunction):
    """A counter and a payload of each key."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.kept = runtime_context.get_state(
            ps.ValueStateDescriptor("kept", ps.Types.TUPLE([ps.Types.LONG(), ps.Types.STRING()]))
        )

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        kept = self.kept.value()
        count = 1 if kept is None else kept[0] + 1
        self.kept.update((count, f"{value:0{PAYLOAD}d}"))
        yield value, count
