"""JSON schemas of rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

import msgspec

from penstock.errors import ConfigError
from penstock.formats.json.fast_decoder import StrictRowDecoder, strict_row_decoder
from penstock.formats.json.json_schema import row_type_from_json_schema
from penstock.formats.json.timestamps import get_timestamp_format
from penstock.formats.json.values import Convert, FromJsonConverters, to_json_converter
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.formats.type_check import convert_elements_to, row_type_error
from penstock.row import Row
from penstock.types import BasicType, BasicTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.collection import SequenceTypeInfo
from penstock.types.visitor import DefaultTypeVisitor

_CONVERTED_BATCHES = 20


class JsonRowDeserializationSchema(DeserializationSchema[Row]):
    """Deserializes JSON objects to rows. Unknown fields are skipped, and missing fields are None.

    Values are converted as in Flink's JSON format. For example, "12" becomes an integer if the field is declared as one, and 12
    becomes a string if the field is declared as one.

    >>> from penstock.types import Types
    >>> event = Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])
    >>> schema = JsonRowDeserializationSchema.builder().type_info(event).build()
    >>> schema.decode([b'{"id": "7", "tags": ["a", 1]}', b'{"other": 1}'])
    [Row(id=7, tags=['a', '1']), Row(id=None, tags=None)]
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        *,
        fail_on_missing_field: bool = False,
        ignore_parse_errors: bool = False,
        timestamp_format: str = "RFC-3339",
    ) -> None:
        if fail_on_missing_field and ignore_parse_errors:
            raise ConfigError(
                "JSON_OPTIONS",
                "fail_on_missing_field and ignore_parse_errors are both set, but a missing field cannot be an error and be "
                "ignored. Set only one of them.",
            )
        self.output_type = type_info
        self.output_is_exact = type_info.exact
        self.ignores_errors = ignore_parse_errors
        self._fail_on_missing_field = fail_on_missing_field
        self._timestamps = timestamp_format
        # Number of batches to decode without the strict decoder, after one in which a value had another type.
        self._converted_batches = 0
        get_timestamp_format(timestamp_format)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Returns a builder."""
        return JsonRowDeserializationSchema.Builder()

    def __getstate__(self) -> dict[str, Any]:
        cached = ("_strict", "_convert", "_plain")  # created by each process
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    @cached_property
    def _strict(self) -> StrictRowDecoder | None:
        return strict_row_decoder(self.output_type, get_timestamp_format(self._timestamps), self._fail_on_missing_field)

    @cached_property
    def _convert(self) -> Convert:
        form = get_timestamp_format(self._timestamps)
        return FromJsonConverters(form, self._fail_on_missing_field, self.ignores_errors).converter(self.output_type)

    @cached_property
    def _plain(self) -> msgspec.json.Decoder[Any]:
        exact = _HasDecimals().visit(self.output_type)
        return msgspec.json.Decoder(float_hook=_decimal) if exact else msgspec.json.Decoder()

    def deserialize(self, message: bytes) -> Row | None:
        return self.decode([message])[0]

    def decode(self, messages: Sequence[bytes]) -> list[Row | None]:
        strict = self._strict
        if strict is not None and not self._converted_batches:
            with suppress(Exception):  # the conversion below raises the error, if there is one
                return [strict(message) for message in messages]
        convert, plain = self._convert, self._plain.decode
        rows = [convert(plain(message)) for message in messages]
        self._converted_batches = self._converted_batches - 1 if self._converted_batches else _CONVERTED_BATCHES
        return rows

    class Builder:
        """Builds the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._settings: dict[str, Any] = {}

        def type_info(self, type_info: TypeInformation) -> Self:
            """Sets the type of the rows. Its field names are the names in JSON."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> Self:
            """Sets the type of the rows as a JSON schema."""
            self._type_info = row_type_from_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> Self:
            """Makes a message invalid if a field is missing."""
            self._settings["fail_on_missing_field"] = True
            return self

        def ignore_parse_errors(self) -> Self:
            """Sets values that cannot be converted to None, and drops and counts messages that are not valid JSON."""
            self._settings["ignore_parse_errors"] = True
            return self

        def timestamp_format(self, name: str) -> Self:
            """Sets the format of timestamps. Not in PyFlink.

            It is "RFC-3339" (2024-05-01T12:00:00Z), "SQL" (2024-05-01 12:00:00), "ISO-8601" (2024-05-01T12:00:00) or
            "EPOCH-MILLIS".
            """
            self._settings["timestamp_format"] = name
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Builds the schema."""
            if not isinstance(self._type_info, RowTypeInfo):
                raise row_type_error("JsonRowDeserializationSchema", self._type_info)
            return JsonRowDeserializationSchema(self._type_info, **self._settings)


class JsonRowSerializationSchema(SerializationSchema[Any]):
    """Serializes rows to JSON objects.

    >>> from penstock.types import Types
    >>> event = Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.SQL_DATE()])
    >>> schema = JsonRowSerializationSchema.builder().with_type_info(event).build()
    >>> import datetime
    >>> schema.encode([Row(id=7, at=datetime.date(2024, 5, 1)), Row(id=8, at=None)])
    [b'{"id":7,"at":"2024-05-01"}', b'{"id":8,"at":null}']
    """

    def __init__(self, type_info: RowTypeInfo, *, timestamp_format: str = "RFC-3339") -> None:
        self.type_info = type_info
        self._timestamps = timestamp_format
        get_timestamp_format(timestamp_format)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Returns a builder."""
        return JsonRowSerializationSchema.Builder()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_plain"}

    @cached_property
    def _plain(self) -> Convert:
        plain = to_json_converter(self.type_info, get_timestamp_format(self._timestamps))
        assert plain is not None
        return plain

    def serialize(self, element: Any) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[Any]) -> list[bytes]:
        plain, encode = self._plain, _encoder.encode
        rows = convert_elements_to("JsonRowSerializationSchema", self.type_info, values)
        return [encode(plain(row)) for row in rows]

    class Builder:
        """Builds the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._settings: dict[str, Any] = {}

        def with_type_info(self, type_info: TypeInformation) -> Self:
            """Sets the type of the rows."""
            self._type_info = type_info
            return self

        def timestamp_format(self, name: str) -> Self:
            """Sets the format of timestamps, as in JsonRowDeserializationSchema. Not in PyFlink."""
            self._settings["timestamp_format"] = name
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Builds the schema."""
            if not isinstance(self._type_info, RowTypeInfo):
                raise row_type_error("JsonRowSerializationSchema", self._type_info)
            return JsonRowSerializationSchema(self._type_info, **self._settings)


_encoder = msgspec.json.Encoder(decimal_format="number")


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


class _HasDecimals(DefaultTypeVisitor[bool]):
    """Whether a type contains a decimal."""

    def visit_default(self, type_info: TypeInformation) -> bool:
        return False

    def visit_basic(self, type_info: BasicTypeInfo) -> bool:
        return type_info.basic_type is BasicType.BIG_DEC

    def visit_row(self, type_info: RowTypeInfo) -> bool:
        return any(map(self.visit, type_info.field_types))

    def visit_tuple(self, type_info: TupleTypeInfo) -> bool:
        return any(map(self.visit, type_info.field_types))

    def visit_map(self, type_info: MapTypeInfo) -> bool:
        return self.visit(type_info.value_type)

    def visit_list(self, type_info: SequenceTypeInfo) -> bool:
        return self.visit(type_info.element_type)
