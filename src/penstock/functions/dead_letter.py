"""Elements put aside because a function raised on them."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.functions.output_tag import OutputTag


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """An element that a function with `on_error="dead_letter"` raised on, and what is known of the call.

    A source with `on_error="dead_letter"` makes them of records that do not decode: `element` is then the record's bytes, and
    `facts` say where it stands, such as topic, partition, offset and key, or file and byte.

    `stream.get_side_output(DEAD_LETTERS)` gives them. A timer's call has no element; `timestamp` is then the timer's.

    >>> DeadLetter(operator="parse", uid="parse-1", element="x", error="ValueError", message="no number").element
    'x'
    """

    operator: str
    uid: str
    element: Any
    error: str  # the exception's type,
    message: str  # and its words
    place: str = ""  # file and line where it was raised, in the user's program
    key: Any = None
    timestamp: int | None = None
    source: str | None = None
    split: str | None = None
    position: int | None = None  # in the split
    facts: dict[str, Any] = {}  # of a source's record

    @property
    def raw(self) -> bytes | None:
        """The bytes of a source's record that does not decode."""
        return self.element if self.facts and isinstance(self.element, bytes) else None

    @property
    def topic(self) -> str | None:
        """The topic of such a record, where it has one."""
        return self.facts.get("topic")

    @property
    def partition(self) -> int | None:
        """Its partition."""
        return self.facts.get("partition")

    @property
    def offset(self) -> int | None:
        """Its offset."""
        return self.facts.get("offset")


def _tag() -> OutputTag[DeadLetter]:
    """The tag itself; while no letter is made, no emission needs to be searched for tags."""
    before = OutputTag.any_made
    tag: OutputTag[DeadLetter] = OutputTag("dead-letters")
    OutputTag.any_made = before
    return tag


DEAD_LETTERS = _tag()
"""The side output of elements that a function raised on."""
