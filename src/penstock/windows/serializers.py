"""Serializers of windows, for compatibility with PyFlink. Penstock itself stores windows as plain values."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from io import BytesIO
from typing import ClassVar, Generic, TypeVar

import msgspec

from penstock.windows.window import CountWindow, GlobalWindow, TimeWindow, Window

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes values to a byte stream and reads them back."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Writes a value to a stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Reads a value from a stream."""


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Serializes a time window as two 8-byte integers.

    >>> stream = BytesIO(); TimeWindowSerializer().serialize(TimeWindow(0, 10), stream); _ = stream.seek(0)
    >>> TimeWindowSerializer().deserialize(stream)
    TimeWindow(start=0, end=10)
    """

    window_type: ClassVar[type[Window]] = TimeWindow

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        stream.write(struct.pack(">qq", element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        return TimeWindow(*struct.unpack(">qq", stream.read(16)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Serializes a count window as an 8-byte integer.

    >>> stream = BytesIO(); CountWindowSerializer().serialize(CountWindow(7), stream); len(stream.getvalue())
    8
    """

    window_type: ClassVar[type[Window]] = CountWindow

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(struct.pack(">q", element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(*struct.unpack(">q", stream.read(8)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Serializes the global window as one byte.

    >>> GlobalWindowSerializer().deserialize(BytesIO(bytes(1)))
    GlobalWindow()
    """

    window_type: ClassVar[type[Window]] = GlobalWindow

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow()


class PlainWindowSerializer(TypeSerializer[Window]):
    """Serializes windows of any class as their plain values."""

    def __init__(self, window_type: type[Window]) -> None:
        self.window_type = window_type

    def serialize(self, element: Window, stream: BytesIO) -> None:
        stream.write(msgspec.msgpack.encode(element.namespace()))

    def deserialize(self, stream: BytesIO) -> Window:
        return self.window_type(*msgspec.msgpack.decode(stream.read()))


def make_window_serializer(window_type: type[Window]) -> TypeSerializer[Window]:
    """Returns the serializer of a window class.

    >>> type(make_window_serializer(CountWindow)).__name__
    'CountWindowSerializer'
    """
    known = (TimeWindowSerializer, CountWindowSerializer, GlobalWindowSerializer)
    for serializer in known:
        if serializer.window_type is window_type:
            return serializer()  # type: ignore[return-value]
    return PlainWindowSerializer(window_type)
