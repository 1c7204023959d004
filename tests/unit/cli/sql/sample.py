"""Answers with known rows, and options, for tests that need no engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.cli.sql.client_options import ClientOptions, ResultMode
from penstock.row import Row, RowKind
from penstock.table.environment.answer import Answer
from penstock.types.logical.kinds import BIGINT, STRING, Field, LogicalType, RowType

KINDS = {str(kind): kind for kind in RowKind}
COUNTS = [("+I", "red", 1), ("+I", "blue", 1), ("-U", "red", 1), ("+U", "red", 2), ("-D", "blue", 1)]


class ClosingRows:
    """Rows of a query that know whether they were closed. `interrupt` raises Ctrl-C at the end."""

    def __init__(self, rows: Iterable[Row], interrupt: bool = False) -> None:
        self._rows = iter(rows)
        self._interrupt = interrupt
        self.closed = False

    def __iter__(self) -> Iterator[Row]:
        yield from self._rows
        if self._interrupt:
            raise KeyboardInterrupt

    def close(self) -> None:
        self.closed = True


def row_of(kind: str, *values: Any) -> Row:
    return Row.of_kind(KINDS[kind], *values)


def query(
    changes: Iterable[tuple[Any, ...]] = COUNTS,
    *,
    columns: Iterable[tuple[str, LogicalType]] = (("color", STRING), ("n", BIGINT)),
    streaming: bool = True,
    interrupt: bool = False,
) -> Answer:
    """The answer of a query. A change is a kind and the values."""
    row_type = RowType(tuple(Field(name, type_) for name, type_ in columns), nullable=False)
    rows = ClosingRows((row_of(*change) for change in changes), interrupt)
    return Answer(row_type, rows, is_query=True, streaming=streaming)


def options(mode: ResultMode = "tableau", max_rows: int = 100, max_width: int = 30) -> ClientOptions:
    return ClientOptions(mode, max_rows, print_time=False, max_width=max_width)
