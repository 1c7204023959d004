"""A record that does not decode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_SHOWN = 80


@dataclass(slots=True)
class BadRecord:
    """A record that does not decode: where it stands, its bytes, and what the decoder said.

    `facts` say where it comes from in the source's own words, such as topic, partition and offset; the first ones are told
    in the error. A fact `timestamp` is the record's own time.

    >>> BadRecord(7, b"{", ValueError("cut off"), {"topic": "clicks", "partition": 0, "offset": 7}).told()
    "topic clicks, partition 0, offset 7 cannot be decoded: cut off. It starts with b'{'"
    """

    position: int  # in its split
    raw: bytes
    error: Exception
    facts: dict[str, Any] = field(default_factory=dict)

    def told(self) -> str:
        """Where it stands, what is wrong with it, and how it begins."""
        where = ", ".join(f"{k} {v}" for k, v in self.facts.items() if k not in ("key", "headers", "timestamp"))
        said = str(self.error).rstrip(".") or type(self.error).__name__
        size = f" ({len(self.raw):,} bytes)" if len(self.raw) > _SHOWN else ""
        start = f"It starts with {bytes(self.raw[:_SHOWN])!r}{size}" if self.raw else "It is empty"
        return f"{where or f'position {self.position}'} cannot be decoded: {said}. {start}"
