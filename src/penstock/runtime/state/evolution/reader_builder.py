"""Builds functions that read values by their shape, with one method for each kind of shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.runtime.state.evolution.shape import COLLECTIONS, Shape

Read = Callable[[Any], Any]


def identity(value: Any) -> Any:
    return value


class ReaderBuilder(ABC):
    """The visitor over shapes for readers of stored values. Handles classes that contain themselves."""

    def __init__(self) -> None:
        self._enclosing: dict[str, list[Read]] = {}  # readers of the enclosing records, by class name

    def build(self, shape: Shape) -> Read:
        """Returns the reader of a shape. None stays None, whether the type allows it or not."""
        read = self._build(shape)
        return identity if read is identity else lambda value: None if value is None else read(value)

    def _build(self, shape: Shape) -> Read:
        if shape.kind == "record":
            return self._record(shape)
        if shape.kind == "self":
            enclosing = self._enclosing[shape.name]
            return lambda value: enclosing[0](value)
        if shape.kind in COLLECTIONS:
            return self.build_collection(shape.kind, self.build(shape.of[0]))
        if shape.kind == "tuple":
            return self.build_tuple([self.build(part) for part in shape.of])
        if shape.kind == "map":
            return self.build_map(self.build(shape.of[0]), self.build(shape.of[1]))
        if shape.kind == "union":
            return self.build_union(shape.of, [self.build(member) for member in shape.of])
        return self.build_enum(shape) if shape.kind == "enum" else self.build_scalar(shape.kind)

    def _record(self, shape: Shape) -> Read:
        outer = self._enclosing.get(shape.name)
        this: list[Read] = []
        self._enclosing[shape.name] = this
        this.append(self.build_record(shape, {field.name: self.build(field.type) for field in shape.fields}))
        if outer is not None:
            self._enclosing[shape.name] = outer
        return this[0]

    @abstractmethod
    def build_scalar(self, kind: str) -> Read: ...
    @abstractmethod
    def build_enum(self, shape: Shape) -> Read: ...
    @abstractmethod
    def build_collection(self, kind: str, element: Read) -> Read: ...
    @abstractmethod
    def build_tuple(self, parts: list[Read]) -> Read: ...
    @abstractmethod
    def build_map(self, key: Read, value: Read) -> Read: ...
    @abstractmethod
    def build_union(self, members: list[Shape], readers: list[Read]) -> Read: ...
    @abstractmethod
    def build_record(self, shape: Shape, fields: dict[str, Read]) -> Read: ...
