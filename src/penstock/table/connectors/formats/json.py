"""The format 'json'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.formats.columns.interface import Decoder, Encoder
from penstock.formats.columns.json_decoder import JsonDecoder, JsonSettings
from penstock.formats.columns.json_encoder import JsonEncoder, JsonWriteSettings
from penstock.table.connectors.formats.format import ReadRequest, TableFormat
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import Field

TIMESTAMP_FORMAT = Option("timestamp-format.standard", "enum", "SQL", choices=("SQL", "ISO-8601"))
IGNORE_ERRORS = Option("ignore-parse-errors", "boolean", False)
WRITE_OPTIONS = (
    # Maps of Penstock never have a null key, so that these two are checked but have no effect.
    Option("map-null-key.mode", "enum", "FAIL", choices=("FAIL", "DROP", "LITERAL")),
    Option("map-null-key.literal", default="null"),
    Option("encode.decimal-as-plain-number", "boolean", False),
    Option("encode.ignore-null-fields", "boolean", False),
)


class JsonFormat(TableFormat):
    """One JSON object per record."""

    name = "json"
    options = (
        Option("fail-on-missing-field", "boolean", False),
        IGNORE_ERRORS,
        TIMESTAMP_FORMAT,
        *WRITE_OPTIONS,
        Option("decode.json-parser.enabled", "boolean", True),  # chooses between two parsers of Flink
    )

    def check(self, values: dict[str, Any]) -> str | None:
        if values["fail-on-missing-field"] and values["ignore-parse-errors"]:
            return "fail-on-missing-field and ignore-parse-errors shouldn't both be true."
        return None

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        return JsonDecoder(request.fields, read_settings(values))

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        return JsonEncoder(fields, write_settings(values))


def read_settings(values: dict[str, Any]) -> JsonSettings:
    """Returns the settings of the decoder. Formats that are built on JSON have some of the options."""
    return JsonSettings(
        values.get("fail-on-missing-field", False), values["ignore-parse-errors"], timestamp_separator(values)
    )


def write_settings(values: dict[str, Any]) -> JsonWriteSettings:
    """Returns the settings of the encoder."""
    return JsonWriteSettings(
        timestamp_separator(values),
        values["encode.decimal-as-plain-number"],
        values["encode.ignore-null-fields"],
    )


def timestamp_separator(values: dict[str, Any]) -> str:
    """Returns what stands between date and time."""
    return "T" if values["timestamp-format.standard"] == "ISO-8601" else " "
