"""Tags of side outputs."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.types import TypeInformation, type_information

T = TypeVar("T", default=Any)


class OutputTag(Generic[T]):
    """Identifies a side output. Functions emit `(tag, value)`, and `stream.get_side_output(tag)` returns the stream.

    >>> OutputTag("late") == OutputTag("late")
    True
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: TypeInformation | type[T] | None = None) -> None:
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
