"""The format 'csv'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.formats.columns.csv_decoder import CsvDecoder
from penstock.formats.columns.csv_encoder import CsvEncoder
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.formats.csv.dialect import CsvDialect
from penstock.table.connectors.formats.format import ReadRequest, TableFormat
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import Field


class CsvFormat(TableFormat):
    """One CSV line per record, without a header."""

    name = "csv"
    options = (
        Option("field-delimiter", default=","),
        Option("disable-quote-character", "boolean", False),
        Option("quote-character", default='"'),
        Option("allow-comments", "boolean", False),
        Option("ignore-parse-errors", "boolean", False),
        Option("array-element-delimiter", default=";"),
        Option("escape-character"),
        Option("null-literal"),
        Option("write-bigdecimal-in-scientific-notation", "boolean", True),
    )

    def check(self, values: dict[str, Any]) -> str | None:
        for name in ("field-delimiter", "quote-character", "escape-character"):
            value = values[name]
            if value is not None and len(unescape(value)) != 1:
                return f"Option 'csv.{name}' is '{value}'; it must be a string with a single character."
        if values["disable-quote-character"] and values["quote-character"] != '"':
            return "Format cannot define a quote character and disabled quote character at the same time."
        return None

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        names = [field.name for field in request.all_fields]
        wanted = [names.index(field.name) for field in request.fields]
        return CsvDecoder(request.all_fields, wanted, dialect(values), values["ignore-parse-errors"])

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        return CsvEncoder(fields, dialect(values))


def dialect(values: dict[str, Any]) -> CsvDialect:
    """Returns the dialect that the options describe."""
    escape = values["escape-character"]
    return CsvDialect(
        delimiter=unescape(values["field-delimiter"]),
        quote=None if values["disable-quote-character"] else values["quote-character"],
        escape=None if escape is None else unescape(escape),
        null=values["null-literal"],
        array_delimiter=unescape(values["array-element-delimiter"]),
        comments=values["allow-comments"],
    )


def unescape(text: str) -> str:
    """Returns a text in which Java's escapes are replaced.

    >>> unescape("\\\\t"), unescape("\\\\u0001"), unescape("|")
    ('\\t', '\\x01', '|')
    """
    if len(text) < 2 or not text.startswith("\\"):
        return text
    known = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\", "\\'": "'", '\\"': '"', "\\b": "\b", "\\f": "\f"}
    if text in known:
        return known[text]
    return chr(int(text[2:], 16)) if text.startswith("\\u") and len(text) == 6 else text
