"""The rows of an answer as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from penstock.row import Row
from penstock.table.environment.answer import Answer
from penstock.table.environment.value_text import value_text
from penstock.types.logical.kinds import LogicalType, TimestampType

NULL = "<NULL>"


@contextmanager
def closing_rows(answer: Answer) -> Iterator[Iterator[Any]]:
    """The rows of an answer. At the end of the block the job of a query ends."""
    try:
        yield iter(answer.rows)
    finally:
        close = getattr(answer.rows, "close", None)
        if close is not None:
            close()


class Cells:
    """Turns rows into texts. Instants are shown in the time zone of the session."""

    def __init__(self, answer: Answer, zone: str, null: str = NULL) -> None:
        self._types = [field.type for field in answer.row_type.fields]
        self._zone = ZoneInfo(zone) if zone else None
        self._null = null

    def texts(self, row: Sequence[Any]) -> list[str]:
        """Returns the texts of a row."""
        return [self.text(value, type_) for value, type_ in zip(row, self._types, strict=True)]

    def text(self, value: Any, type_: LogicalType) -> str:
        """Returns the text of a value."""
        if isinstance(type_, TimestampType) and isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(self._zone)
        return value_text(value, type_, self._null)


def kind_of(row: Any) -> str:
    """The kind of a change, such as +I."""
    return str(row.get_row_kind()) if isinstance(row, Row) else "+I"
