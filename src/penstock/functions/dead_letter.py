"""Dead letters: elements for which a function raised an exception."""

from __future__ import annotations

import warnings
from typing import Any

import msgspec

from penstock.functions.output_tag import OutputTag


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """An element for which a function with `on_error="dead_letter"` raised an exception, with details of the call.

    A source with `on_error="dead_letter"` emits dead letters for records that it cannot decode. Then `element` is the raw bytes
    of the record, and `facts` describe its position, such as topic, partition, offset and key, or file and byte.

    Read dead letters with `stream.get_side_output(DEAD_LETTERS)`. A dead letter of a timer has no element, and its `timestamp`
    is that of the timer.

    >>> DeadLetter(operator="parse", uid="parse-1", element="x", error="ValueError", message="no number").element
    'x'
    """

    operator: str
    uid: str
    element: Any
    error: str  # the type of the exception
    message: str  # the message of the exception
    location: str = ""  # file and line in the user program where it was raised
    key: Any = None
    timestamp: int | None = None
    source: str | None = None
    split: str | None = None
    position: int | None = None  # position of the record in the split
    facts: dict[str, Any] = {}  # position of a record that a source could not decode

    @property
    def place(self) -> str:
        """File and line.

        .. deprecated:: 0.2 Use `location`.
        """
        warnings.warn("DeadLetter.place is deprecated. Use DeadLetter.location.", DeprecationWarning, stacklevel=2)
        return self.location

    @property
    def raw(self) -> bytes | None:
        """The raw bytes of a record that a source could not decode, or None."""
        return self.element if self.facts and isinstance(self.element, bytes) else None

    @property
    def topic(self) -> str | None:
        """The topic of a record that a source could not decode, or None."""
        return self.facts.get("topic")

    @property
    def partition(self) -> int | None:
        """The partition of a record that a source could not decode, or None."""
        return self.facts.get("partition")

    @property
    def offset(self) -> int | None:
        """The offset of a record that a source could not decode, or None."""
        return self.facts.get("offset")


DEAD_LETTERS: OutputTag[DeadLetter] = OutputTag("dead-letters")
"""The side output of dead letters."""
