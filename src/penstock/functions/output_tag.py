"""A named side output."""

from __future__ import annotations

from penstock.types import TypeInformation, type_information


class OutputTag:
    """Names a side output: a function yields `(tag, value)`, `stream.get_side_output(tag)` reads it.

    >>> OutputTag("late") == OutputTag("late")
    True
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: TypeInformation | type | None = None) -> None:
        self.tag_id = tag_id
        self.type_info = type_information(type_info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
