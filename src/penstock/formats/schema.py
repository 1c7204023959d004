"""The seam of formats: bytes to elements and back, a whole batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from penstock.types import TypeInformation, Types, type_information

T = TypeVar("T")


class DeserializationSchema(Generic[T]):
    """Turns messages into elements. A subclass defines `deserialize`, or `decode` where a batch is faster at once.

    >>> class Numbers(DeserializationSchema[int]):
    ...     output_type = int
    ...
    ...     def deserialize(self, message: bytes) -> int:
    ...         return int(message)
    >>> Numbers().decode([b"1", b"20"])
    [1, 20]
    """

    output_type: Any = None  # a type or an annotation of the elements, where they are all of one
    output_is_exact = False  # no element is of a subclass, or has a whole number where a float is annotated
    ignores_errors = False  # messages that do not decode are dropped and counted, whatever the source's on_error says
    drops_none = True  # None is no element: the message is dropped

    def deserialize(self, message: bytes) -> T | None:
        """The element in one message; None drops it. Raises on a message that does not decode."""
        raise NotImplementedError

    def decode(self, messages: Sequence[bytes]) -> list[T | None]:
        """The element in each message. Raises when there is one that does not decode."""
        deserialize = self.deserialize
        return [deserialize(message) for message in messages]

    def get_produced_type(self) -> TypeInformation:
        """The type of the elements; PICKLED_BYTE_ARRAY when it is not known."""
        said = self.output_type
        return Types.PICKLED_BYTE_ARRAY() if said is None or said is Any else type_information(said)


class SerializationSchema(Generic[T]):
    """Turns elements into messages. A subclass defines `serialize`, or `encode` where a batch is faster at once.

    >>> class Numbers(SerializationSchema[int]):
    ...     def serialize(self, element: int) -> bytes:
    ...         return str(element).encode()
    >>> Numbers().encode([1, 20])
    [b'1', b'20']
    """

    def serialize(self, element: T) -> bytes:
        """The message of one element."""
        raise NotImplementedError

    def encode(self, values: list[T]) -> list[bytes]:
        """The message of each element."""
        serialize = self.serialize
        return [serialize(value) for value in values]
