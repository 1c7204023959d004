"""Prints answers as Flink's client does in its mode tableau."""

from __future__ import annotations

import time
from typing import IO

from penstock.cli.sql import messages
from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.results.cells import Cells, closing_rows, kind_of
from penstock.table.environment.answer import Answer
from penstock.table.environment.tableau import Tableau, text_width


def print_tableau(answer: Answer, options: ClientOptions, file: IO[str]) -> None:
    """Prints the rows of an answer. Those of a streaming query are printed when they come."""
    if answer.style == "text":
        for row in answer.rows:
            print(row[0], file=file, flush=True)
    elif answer.is_query and answer.streaming:
        _print_changes(answer, options, file)
    else:
        _print_rows(answer, options, file)


def _print_changes(answer: Answer, options: ClientOptions, file: IO[str]) -> None:
    began, count = time.monotonic(), 0
    cells = Cells(answer, options.zone)
    tableau = Tableau.of_types(answer.row_type, maximum=options.max_width)
    print(*tableau.head(), sep="\n", file=file, flush=True)
    with closing_rows(answer) as rows:
        for row in rows:
            print(tableau.row([kind_of(row), *cells.texts(row)]), file=file, flush=True)
            count += 1
    if count:
        print(tableau.border(), file=file)
    seconds = time.monotonic() - began if options.print_time else None
    print(messages.rows_received(count, seconds), file=file, flush=True)


def _print_rows(answer: Answer, options: ClientOptions, file: IO[str]) -> None:
    began = time.monotonic()
    cells = Cells(answer, options.zone, "<NULL>" if answer.is_query else "")
    with closing_rows(answer) as rows:
        texts = [cells.texts(row) for row in rows]
    names = [field.name for field in answer.row_type.fields]
    if texts:
        print(*table_lines(names, texts, options.max_width if answer.is_query else None), sep="\n", file=file)
    seconds = time.monotonic() - began if options.print_time and answer.is_query else None
    print(messages.rows_in_set(len(texts), seconds), file=file, flush=True)


def table_lines(names: list[str], texts: list[list[str]], max_width: int | None = None) -> list[str]:
    """The lines of a table that is as wide as its values, up to a maximum per column.

    >>> print(*table_lines(["id", "n"], [["1", "2"], ["2", "1"]]), sep="\\n")
    +----+---+
    | id | n |
    +----+---+
    |  1 | 2 |
    |  2 | 1 |
    +----+---+
    """
    widths = [max((text_width(row[i]) for row in texts), default=0) for i in range(len(names))]
    tableau = Tableau(names, widths if max_width is None else [min(width, max_width) for width in widths])
    return [*tableau.head(), *map(tableau.row, texts), tableau.border()]
