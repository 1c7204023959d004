"""Dead letters of tables: records that do not match the columns of a table go to another table or to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.connectors.kafka import KafkaRecord
from penstock.functions import DeadLetter
from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.expressions.frame import Session
from penstock.table.catalog.table import CatalogTable, TableColumn
from penstock.table.connectors.options import OptionValues
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import BIGINT, BYTES, STRING, BinaryType, Field, LogicalType, TimestampType

PREFIX = "dead-letter."
TABLE = "dead-letter.table"
PATH = "dead-letter.path"
_TIME = TimestampType(3, local=True)
_RECORD = ("record", "record_key")  # they can be texts or bytes

COLUMNS: dict[str, LogicalType] = {
    "record": STRING,
    "record_bytes": BYTES,
    "record_key": STRING,
    "error": STRING,
    "source": STRING,
    "split": STRING,
    "position": BIGINT,
    "record_time": _TIME,
}
"""What is known about a dead letter, by the names that columns of a table of dead letters have."""


def check_dead_letters(values: OptionValues, given: Mapping[str, str]) -> None:
    """Refuses options of dead letters that contradict each other or those of the format."""
    asked = [name for name in (TABLE, PATH) if name in given]
    if len(asked) == 2:
        raise values.error(f"Options '{TABLE}' and '{PATH}' shouldn't both be set. Dead letters have one target.")
    for name, value in given.items():
        if asked and name.endswith("ignore-parse-errors") and value.strip().lower() == "true":
            raise values.error(
                f"Options '{asked[0]}' and '{name}' shouldn't both be set: a record that is skipped is no dead letter. "
                "Remove one of them."
            )


def file_table(path: str) -> CatalogTable:
    """Returns the table of the option 'dead-letter.path': files with one JSON object per dead letter."""
    columns = tuple(TableColumn(name, type_) for name, type_ in COLUMNS.items())
    return CatalogTable(columns, (("connector", "filesystem"), ("path", path), ("format", "json")))


def misfit_of_table(table: CatalogTable) -> str:
    """Says why a table cannot take dead letters, or nothing if it can."""
    known = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    for column in table.sink_columns:
        expected = COLUMNS.get(column.name)
        if expected is None:
            return f"its column '{column.name}' is unknown. A table of dead letters has some of the columns {known}."
        as_bytes = column.name in _RECORD and isinstance(column.type, BinaryType)
        if not as_bytes and type(column.type) is not type(expected):
            also = " or BYTES" if column.name in _RECORD else ""
            return f"its column '{column.name}' has the type {column.type}; expected {expected}{also}."
        if not column.type.nullable and column.name in ("record_bytes", "record_key", "record_time"):
            return f"its column '{column.name}' is NOT NULL, but not all dead letters have a value for it."
    if not table.sink_columns:
        return f"it has no columns. A table of dead letters has some of the columns {known}."
    return ""


class DeadLetterRows:
    """Turns dead letters into rows of a table of dead letters. `source` is the name of the table that was read."""

    def __init__(self, source: str, fields: Sequence[Field]) -> None:
        self._source = source
        self._fields = tuple(fields)

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, list)
        return StepResult(self.convert(rows))

    def convert(self, found: Sequence[DeadLetter]) -> Changes:
        """Returns one row for each dead letter.

        >>> letter = DeadLetter(operator="d", uid="d", element=b"{x", error="E", message="no JSON", split="f", position=7)
        >>> rows = DeadLetterRows("c.d.t", [Field("record", STRING), Field("error", STRING), Field("position", BIGINT)])
        >>> [column.to_pylist() for column in rows.convert([letter]).columns]
        [['{x'], ['no JSON'], [7]]
        """
        columns = []
        for field in self._fields:
            read = _READERS[field.name]
            values: list[Any] = [self._source if field.name == "source" else read(letter) for letter in found]
            known = COLUMNS[field.name]
            if field.name in _RECORD:
                as_bytes = isinstance(field.type, BinaryType)
                known = BYTES if as_bytes else STRING
                values = values if as_bytes else [_text(value) for value in values]
            column = pa.array(values, arrow_type(known))
            columns.append(cast_column(column, known, field.type.with_nullable(True), Session(), False))
        return Changes(columns, len(found))


def _element(letter: DeadLetter) -> Any:
    """The element without the file that it came from."""
    return letter.element[1] if isinstance(letter.element, tuple) else letter.element


def _record(letter: DeadLetter) -> bytes | None:
    element = _element(letter)
    if isinstance(element, KafkaRecord):
        element = element.value
    if isinstance(element, str):
        return element.encode()
    if element is None or isinstance(element, bytes):
        return element
    return repr(element).encode()  # a record of a file that is no text, such as Avro


def _key(letter: DeadLetter) -> bytes | None:
    element = _element(letter)
    key = element.key if isinstance(element, KafkaRecord) else letter.facts.get("key")
    return key.encode() if isinstance(key, str) else key


def _bytes_without_text(letter: DeadLetter) -> bytes | None:
    """The record, if it is no text: a text column cannot show it as it was."""
    record = _record(letter)
    try:
        record.decode() if record is not None else None
    except UnicodeDecodeError:
        return record
    return None


def _text(record: bytes | None) -> str | None:
    return None if record is None else record.decode(errors="replace")


_READERS: dict[str, Callable[[DeadLetter], Any]] = {
    "record": _record,
    "record_bytes": _bytes_without_text,
    "record_key": _key,
    "error": lambda letter: letter.message,
    "source": lambda letter: letter.source,
    "split": lambda letter: letter.split,
    "position": lambda letter: letter.position,
    "record_time": lambda letter: letter.timestamp,
}
