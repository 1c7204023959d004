"""One field of a row as a message."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigError, UserFunctionError
from penstock.formats.schema import SerializationSchema


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """A field of a row, which must be bytes: for keys and values that are written already.

    >>> RowFieldExtractorSchema(1).encode([(b"key", b"value")])
    [b'value']
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ConfigError("FIELD_INDEX", f"RowFieldExtractorSchema got field {field_index}; fields count from 0.")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        try:
            field = element[self.field_index]
        except (IndexError, TypeError):
            field = None
        if not isinstance(field, bytes):
            raise UserFunctionError(
                "ELEMENT_TYPE",
                f"RowFieldExtractorSchema takes field {self.field_index} of rows as it is, and it is not bytes in "
                f"{element!r:.200}. Encode it in a map before the sink.",
            )
        return field
