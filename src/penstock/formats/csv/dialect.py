"""How CSV is written: its separators and signs, and how a line becomes fields and fields a line."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import ConfigError

csv.field_size_limit(sys.maxsize)  # the module's own limit would make records of more than 128 KB bad ones
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_LONG = 24  # texts that are longer are quoted without a look at them, as Flink does


@dataclass(frozen=True)
class CsvForm:
    """The signs of one kind of CSV.

    >>> CsvForm(delimiter=";").line(["a", None, "b;c"])
    'a;;"b;c"\\n'
    """

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null: str | None = None
    array_delimiter: str = ";"
    line_delimiter: str = "\n"
    comments: bool = False

    def check(self) -> None:
        """Raises on signs that cannot be."""
        for name, sign in (("field delimiter", self.delimiter), ("quote", self.quote), ("escape", self.escape)):
            if sign is not None and len(sign) != 1:
                raise ConfigError("CSV_SIGN", f"The {name} of CSV is {sign!r}; it must be one character.")
        if self.line_delimiter not in ("\n", "\r", "\r\n", ""):
            raise ConfigError(
                "CSV_SIGN",
                f"The line delimiter of CSV is {self.line_delimiter!r}; it must be \\n, \\r, \\r\\n or empty.",
            )

    def fields(self, lines: Sequence[str]) -> list[list[str]]:
        """The fields of each line. A field between quotes may hold ends of lines."""
        if self.escape is not None:
            lines = [self._with_controls(line) if self.escape in line else line for line in lines]
        rows = list(self.reader(lines))
        if len(rows) != len(lines):
            raise ValueError("a quote is not closed")
        return rows

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The fields of each row of a text, whose fields may go over several lines."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            escapechar=self.escape,
            strict=True,
        )

    def _with_controls(self, line: str) -> str:
        """Letters behind the escape sign that stand for ends of lines and tabs, as those."""
        escape = self.escape or ""
        pairs = re.compile(re.escape(escape) + "(.)", re.DOTALL)
        return pairs.sub(lambda pair: escape + _CONTROLS.get(pair[1], pair[1]), line)

    def line(self, fields: Sequence[str | None], quotable: Sequence[bool] | None = None) -> str:
        """A line of fields; numbers and truth values are not quotable."""
        null = self.null or ""
        return (
            self.delimiter.join(
                null if f is None else self._quoted(f) if quotable is None or quotable[i] else f
                for i, f in enumerate(fields)
            )
            + self.line_delimiter
        )

    def _quoted(self, text: str) -> str:
        if self.quote is None:
            return text  # as Flink writes it, though it may then be read as something else
        # Flink quotes by the smallest character that is always safe, not only where it must.
        safe = max(map(ord, (self.delimiter, self.quote, "\r", "\n"))) + 1
        if len(text) <= _LONG and not any(ord(c) < safe or c == self.escape for c in text):
            return text
        if self.escape is not None:
            text = text.replace(self.escape, self.escape * 2)
        return f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}"
