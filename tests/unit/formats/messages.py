"""A source of messages with offsets, for tests of formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.connectors import Chunk, Offset, Source
from penstock.formats import Decoding, DeserializationSchema


class Messages(Source):
    """Messages of one partition, with a fixed number per batch."""

    def __init__(
        self, messages: Sequence[bytes | None], schema: DeserializationSchema[Any], per_batch: int = 4
    ) -> None:
        self._messages = list(messages)
        self._per_batch = per_batch
        self._schema = schema
        self.output_type = schema.output_type
        self.output_is_exact = schema.output_is_exact

    def initial(self) -> Offset:
        return {"at": 0}

    def latest(self, start: Offset) -> Offset:
        return {"at": min(start["at"] + self._per_batch, len(self._messages))}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return [(start["at"], end["at"])]

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        decoded = Decoding(self._schema).decode(self._messages[low:high], lambda i: self._place(low + i))
        positions = decoded.of(range(low, high))
        yield Chunk(
            "p0",
            low,
            decoded.values,
            timestamps=[1000 * p for p in positions],
            positions=list(positions),
            bad=decoded.bad,
            skipped=decoded.skipped,
        )

    @staticmethod
    def _place(offset: int) -> tuple[int, dict[str, Any]]:
        return offset, {"topic": "clicks", "partition": 0, "offset": offset, "key": b"k", "timestamp": 1000 * offset}

    def splits(self, offset: Offset) -> list[str]:
        return ["p0"]

    def ended(self, offset: Offset) -> list[str]:
        return ["p0"] if offset["at"] >= len(self._messages) else []
