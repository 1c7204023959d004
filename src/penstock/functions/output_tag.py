"""A named side output."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.types import TypeInformation, type_information

T = TypeVar("T", default=Any)


class OutputTag(Generic[T]):
    """Names a side output: a function yields `(tag, value)`, `stream.get_side_output(tag)` reads it.

    >>> OutputTag("late") == OutputTag("late")
    True
    """

    __slots__ = ("tag_id", "type_info")
    any_made = False  # in this process; while there is none, nothing emitted needs to be searched for tags

    def __init__(self, tag_id: str, type_info: TypeInformation | type[T] | None = None) -> None:
        OutputTag.any_made = True
        self.tag_id = tag_id
        self.type_info = type_information(type_info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __reduce__(self) -> tuple[type[OutputTag[T]], tuple[str, TypeInformation]]:
        return OutputTag, (self.tag_id, self.type_info)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
