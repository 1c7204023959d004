"""A record that cannot be decoded."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

_MAX_SHOWN = 80  # bytes in the error message


@dataclass(slots=True)
class BadRecord:
    """A record that cannot be decoded: its position, its bytes, and the error of the decoder.

    `facts` describe its origin, such as topic, partition and offset. They are part of the error message, except for `key`,
    `headers` and `timestamp`, the timestamp of the record.

    >>> BadRecord(7, b"{", ValueError("cut off"), {"topic": "clicks", "partition": 0, "offset": 7}).describe()
    "topic clicks, partition 0, offset 7 cannot be decoded: cut off. It starts with b'{'"
    """

    position: int  # in its split
    raw: bytes
    error: Exception
    facts: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """Returns the origin of the record, the error, and the first bytes, for an error message."""
        origin = ", ".join(f"{k} {v}" for k, v in self.facts.items() if k not in ("key", "headers", "timestamp"))
        reason = str(self.error).rstrip(".") or type(self.error).__name__
        size = f" ({len(self.raw):,} bytes)" if len(self.raw) > _MAX_SHOWN else ""
        start = f"It starts with {bytes(self.raw[:_MAX_SHOWN])!r}{size}" if self.raw else "It is empty"
        return f"{origin or f'position {self.position}'} cannot be decoded: {reason}. {start}"

    def told(self) -> str:
        """Returns the same as `describe`.

        .. deprecated:: 0.2
            Use `describe`.
        """
        warnings.warn("BadRecord.told() is deprecated. Use BadRecord.describe().", DeprecationWarning, stacklevel=2)
        return self.describe()
