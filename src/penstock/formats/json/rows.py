"""Rows from JSON and to JSON, under Flink's names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

import msgspec

from penstock.errors import ConfigError
from penstock.formats.fitting import as_type, no_row_type
from penstock.formats.json_strict import StrictRows, strict_rows
from penstock.formats.json_times import timestamp_form
from penstock.formats.json_types import row_type_of_json_schema
from penstock.formats.json_values import Convert, FromJson, to_json
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.row import Row
from penstock.types import BasicType, BasicTypeInfo, MapTypeInfo, RowTypeInfo, TypeInformation
from penstock.types.collection import SequenceTypeInfo
from penstock.types.fields import FieldsTypeInfo

_LOOSE_BATCHES = 20


class JsonRowDeserializationSchema(DeserializationSchema[Row]):
    """JSON objects as rows. Fields that the row's type does not have are skipped; missing ones are None.

    Values are converted as Flink's JSON format does: "12" is a whole number where one is declared, and 12 is a text where one
    is.

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
                "fail_on_missing_field and ignore_parse_errors were both set: a missing field cannot both be an error and be "
                "ignored. Set one of them.",
            )
        self.output_type = type_info
        self.output_is_exact = type_info.exact
        self.ignores_errors = ignore_parse_errors
        self._fail_on_missing_field = fail_on_missing_field
        self._timestamps = timestamp_format
        self._loose = (
            0  # so many batches are not tried the fast way: the one before them was not just what the type says
        )
        timestamp_form(timestamp_format)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Collects the settings."""
        return JsonRowDeserializationSchema.Builder()

    def __getstate__(self) -> dict[str, Any]:
        made = ("_strict", "_convert", "_plain")  # by each process for itself
        return {name: value for name, value in self.__dict__.items() if name not in made}

    @cached_property
    def _strict(self) -> StrictRows | None:
        return strict_rows(self.output_type, timestamp_form(self._timestamps), self._fail_on_missing_field)

    @cached_property
    def _convert(self) -> Convert:
        form = timestamp_form(self._timestamps)
        return FromJson(form, self._fail_on_missing_field, self.ignores_errors).of(self.output_type)

    @cached_property
    def _plain(self) -> msgspec.json.Decoder[Any]:
        exact = _has_decimals(self.output_type)
        return msgspec.json.Decoder(float_hook=_decimal) if exact else msgspec.json.Decoder()

    def deserialize(self, message: bytes) -> Row | None:
        return self.decode([message])[0]

    def decode(self, messages: Sequence[bytes]) -> list[Row | None]:
        strict = self._strict
        if strict is not None and not self._loose:
            with suppress(Exception):  # what is wrong, if anything is, comes out below
                return [strict(message) for message in messages]
        convert, plain = self._convert, self._plain.decode
        rows = [convert(plain(message)) for message in messages]
        self._loose = self._loose - 1 if self._loose else _LOOSE_BATCHES
        return rows

    class Builder:
        """Collects the settings of a schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._settings: dict[str, Any] = {}

        def type_info(self, type_info: TypeInformation) -> Self:
            """The type of the rows; the names of its fields are JSON's."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> Self:
            """The same as a JSON schema."""
            self._type_info = row_type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> Self:
            """A message without one of the fields does not decode."""
            self._settings["fail_on_missing_field"] = True
            return self

        def ignore_parse_errors(self) -> Self:
            """What does not convert becomes None, and messages that are no JSON are dropped and counted."""
            self._settings["ignore_parse_errors"] = True
            return self

        def timestamp_format(self, name: str) -> Self:
            """How timestamps are written: "RFC-3339" (2024-05-01T12:00:00Z), "SQL" (2024-05-01 12:00:00), "ISO-8601"
            (2024-05-01T12:00:00) or "EPOCH-MILLIS". Not in PyFlink.
            """
            self._settings["timestamp_format"] = name
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            if not isinstance(self._type_info, RowTypeInfo):
                raise no_row_type("JsonRowDeserializationSchema", self._type_info)
            return JsonRowDeserializationSchema(self._type_info, **self._settings)


class JsonRowSerializationSchema(SerializationSchema[Any]):
    """Rows as JSON objects.

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
        timestamp_form(timestamp_format)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Collects the settings."""
        return JsonRowSerializationSchema.Builder()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_plain"}

    @cached_property
    def _plain(self) -> Convert:
        plain = to_json(self.type_info, timestamp_form(self._timestamps))
        assert plain is not None
        return plain

    def serialize(self, element: Any) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[Any]) -> list[bytes]:
        plain, encode = self._plain, _encoder.encode
        rows = as_type("JsonRowSerializationSchema", self.type_info, values)
        return [encode(plain(row)) for row in rows]

    class Builder:
        """Collects the settings of a schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._settings: dict[str, Any] = {}

        def with_type_info(self, type_info: TypeInformation) -> Self:
            """The type of the rows."""
            self._type_info = type_info
            return self

        def timestamp_format(self, name: str) -> Self:
            """How timestamps are written, as of the deserialization schema. Not in PyFlink."""
            self._settings["timestamp_format"] = name
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            if not isinstance(self._type_info, RowTypeInfo):
                raise no_row_type("JsonRowSerializationSchema", self._type_info)
            return JsonRowSerializationSchema(self._type_info, **self._settings)


_encoder = msgspec.json.Encoder(decimal_format="number")


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


def _has_decimals(kind: TypeInformation) -> bool:
    if isinstance(kind, BasicTypeInfo):
        return kind.basic_type is BasicType.BIG_DEC
    if isinstance(kind, FieldsTypeInfo):
        return any(map(_has_decimals, kind.field_types))
    if isinstance(kind, MapTypeInfo):
        return _has_decimals(kind.value_type)
    return isinstance(kind, SequenceTypeInfo) and _has_decimals(kind.element_type)
