"""The interface of message formats: deserialization and serialization schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from penstock.types import TypeInformation, Types, type_information

T = TypeVar("T")


class DeserializationSchema(Generic[T]):
    """Deserializes messages to elements. A subclass implements `deserialize`, or `decode` if a batch is faster.

    >>> class Numbers(DeserializationSchema[int]):
    ...     output_type = int
    ...
    ...     def deserialize(self, message: bytes) -> int:
    ...         return int(message)
    >>> Numbers().decode([b"1", b"20"])
    [1, 20]
    """

    output_type: Any = None  # type or annotation of the elements, if all have the same type
    output_is_exact = False  # True if no element has a subclass of that type, or an int where a float is annotated
    ignores_errors = False  # bad messages are dropped and counted, regardless of on_error of the source
    drops_none = True  # whether None means that the message has no element

    def deserialize(self, message: bytes) -> T | None:
        """Returns the element of a message, or None to drop it. Raises an exception if the message is invalid."""
        raise NotImplementedError

    def decode(self, messages: Sequence[bytes]) -> list[T | None]:
        """Returns the element of each message. Raises an exception if any message is invalid."""
        deserialize = self.deserialize
        return [deserialize(message) for message in messages]

    def get_produced_type(self) -> TypeInformation:
        """Returns the type of the elements, or PICKLED_BYTE_ARRAY if it is not known."""
        declared = self.output_type
        return Types.PICKLED_BYTE_ARRAY() if declared is None or declared is Any else type_information(declared)


class SerializationSchema(Generic[T]):
    """Serializes elements to messages. A subclass implements `serialize`, or `encode` if a batch is faster.

    >>> class Numbers(SerializationSchema[int]):
    ...     def serialize(self, element: int) -> bytes:
    ...         return str(element).encode()
    >>> Numbers().encode([1, 20])
    [b'1', b'20']
    """

    def serialize(self, element: T) -> bytes:
        """Returns the message of an element."""
        raise NotImplementedError

    def encode(self, values: list[T]) -> list[bytes]:
        """Returns the message of each element."""
        serialize = self.serialize
        return [serialize(value) for value in values]
