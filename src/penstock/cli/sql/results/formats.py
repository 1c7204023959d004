"""Results of scripts: as tables, as lines of JSON, or as CSV."""

from __future__ import annotations

import csv
import sys
from typing import TextIO

from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.output import Output
from penstock.cli.sql.results.cells import Cells, closing_rows
from penstock.cli.sql.results.json_values import json_encoder, json_value
from penstock.cli.sql.results.tableau import print_tableau
from penstock.row import Row
from penstock.table.environment.answer import Answer

_KIND = "op"
_OTHER_KIND = "$op"  # if a column has the name op


def output_of(name: str, file: TextIO | None = None) -> Output:
    """The output with a name: text, json or csv."""
    kinds: dict[str, type[TextOutput]] = {"text": TextOutput, "json": JsonOutput, "csv": CsvOutput}
    return kinds[name](file or sys.stdout)


class TextOutput:
    """Tables and messages as Flink's client prints them."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def info(self, text: str) -> None:
        self.text(text)

    def text(self, text: str) -> None:
        print(text, file=self._file, flush=True)

    def clear(self) -> None:
        """Does nothing, because there is no screen."""

    def answer(self, answer: Answer, options: ClientOptions) -> None:
        print_tableau(answer, options, self._file)


class JsonOutput(TextOutput):
    """One JSON object per row, with the kind of the change under "op". Messages are left out."""

    def info(self, text: str) -> None:
        """Leaves the message out, so that each line of the output is a row."""

    def text(self, text: str) -> None:
        print(text, file=sys.stderr)

    def answer(self, answer: Answer, options: ClientOptions) -> None:
        encoder, kind, cells = json_encoder(), kind_name(answer), Cells(answer, options.zone)
        with closing_rows(answer) as rows:
            for row in rows:
                fields = {
                    f.name: json_value(v, f.type, cells) for f, v in zip(answer.row_type.fields, row, strict=True)
                }
                if isinstance(row, Row):
                    fields = {kind: str(row.get_row_kind()), **fields}
                print(encoder.encode(fields).decode(), file=self._file, flush=True)


class CsvOutput(JsonOutput):
    """One line per row, behind a line with the names of the columns. NULL is empty."""

    def answer(self, answer: Answer, options: ClientOptions) -> None:
        writer = csv.writer(self._file, lineterminator="\n")
        names, cells = [field.name for field in answer.row_type.fields], Cells(answer, options.zone, "")
        writer.writerow([kind_name(answer), *names] if answer.is_query else names)
        with closing_rows(answer) as rows:
            for row in rows:
                texts = cells.texts(row)
                writer.writerow([str(row.get_row_kind()), *texts] if isinstance(row, Row) else texts)
                self._file.flush()


def kind_name(answer: Answer) -> str:
    """The name under which the kind of a change is written."""
    return _OTHER_KIND if any(field.name == _KIND for field in answer.row_type.fields) else _KIND
