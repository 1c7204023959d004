"""The result of a statement."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.datastream.jobs.job_client import JobClient
from penstock.row import Row, make_row
from penstock.table.catalog_objects.resolved_schema import ResolvedSchema
from penstock.table.environment.answer import Answer
from penstock.table.environment.schema import TableSchema
from penstock.table.environment.tableau import Tableau, lines
from penstock.table.environment.value_text import value_text


class ResultKind(IntEnum):
    """What a result contains: only the word OK, or rows."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1


class TableResult:
    """The result of a statement: rows to collect or to print, and the job that computes them."""

    def __init__(self, answer: Answer, max_width: int = 30) -> None:
        self._answer = answer
        self._max_width = max_width

    def get_job_client(self) -> JobClient | None:
        """Returns the client of the job, or None if the statement started none."""
        return self._answer.job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Waits until the first row of a query is there, or until the job of an INSERT has ended."""
        answer = self._answer
        if answer.is_query:
            self._peek()
        elif answer.job_client is not None:
            future = answer.job_client.get_job_execution_result()
            future.result() if timeout_ms is None else future.result(timeout_ms / 1000)  # type: ignore[call-arg]

    def _peek(self) -> None:
        iterator = iter(self._answer.rows)
        first = next(iterator, None)
        self._answer.rows = _Resumed(first, iterator, self._answer.rows)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Returns the columns of the result."""
        return ResolvedSchema.of_row_type(self._answer.row_type)

    def get_table_schema(self) -> TableSchema:
        """Returns the columns of the result, in the older form."""
        return TableSchema.of(self._answer.row_type)

    def get_result_kind(self) -> ResultKind:
        """Returns whether the result has more than the word OK."""
        return ResultKind.SUCCESS if self._answer.style == "ok" else ResultKind.SUCCESS_WITH_CONTENT

    def collect(self) -> CloseableIterator[Row]:
        """Returns the rows. Those of a streaming query have kinds, and come as long as it runs: close the iterator to end it."""
        rows = self._answer.rows
        if isinstance(rows, CloseableIterator):
            return rows
        if isinstance(rows, _Resumed):
            return CloseableIterator(rows)
        return CloseableIterator(make_row(None, list(row)) for row in rows)

    def print(self) -> None:
        """Prints the rows as Flink's SQL client does."""
        for line in self.lines():
            sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def lines(self) -> Iterator[str]:
        """Returns the lines that `print` prints."""
        answer = self._answer
        types = [field.type for field in answer.row_type.fields]
        names = [field.name for field in answer.row_type.fields]
        if answer.style != "table":
            yield from (str(row[0]) for row in answer.rows)
        elif answer.is_query:
            tableau = Tableau.of_types(answer.row_type, maximum=self._max_width, kinds=answer.streaming)
            with self.collect() as rows:
                yield from lines(tableau, (self._texts(row, types) for row in rows))
        else:
            texts = [[value_text(v, t, "") for v, t in zip(row, types, strict=True)] for row in answer.rows]
            yield from lines(Tableau.of_rows(names, texts), texts)

    def _texts(self, row: Row, types: list[Any]) -> list[str]:
        values = [value_text(v, t, "<NULL>") for v, t in zip(row, types, strict=True)]
        return [str(row.get_row_kind()), *values] if self._answer.streaming else values


class _Resumed:
    """An iterator whose first row was taken already."""

    def __init__(self, first: Any, rest: Iterator[Any], source: Any) -> None:
        self._first = [] if first is None else [first]
        self._rest = rest
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._first.pop() if self._first else next(self._rest)

    def close(self) -> None:
        """Ends the job."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()
