"""Serializes one field of a row."""

from __future__ import annotations

from typing import Any

from penstock.errors import UserFunctionError
from penstock.formats.schema import SerializationSchema


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """Writes one field of a row, which must be bytes. Use it for keys and values that are already serialized.

    As in Flink, a row or a field that is None becomes empty bytes.

    >>> RowFieldExtractorSchema(1).encode([(b"key", b"value")])
    [b'value']
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(
                f"Field index must be non-negative, but RowFieldExtractorSchema got {field_index}. Fields count from 0."
            )
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        if element is None:
            return b""
        try:
            field = element[self.field_index]
        except (IndexError, TypeError):
            field = element
        if field is None:
            return b""
        if not isinstance(field, bytes):
            raise UserFunctionError(
                "ELEMENT_TYPE",
                f"RowFieldExtractorSchema expects bytes in field {self.field_index}, but got {element!r:.200}. Encode the "
                "field in a map before the sink.",
            )
        return field
