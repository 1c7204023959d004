"""The dialect of a CSV format (delimiters, quotes, escapes), with parsing and formatting of lines."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import ConfigError

csv.field_size_limit(sys.maxsize)  # with the default limit, fields of more than 128 KB would fail
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_MAX_CHECKED = 24  # characters; longer strings are quoted without a check, as in Flink


@dataclass(frozen=True)
class CsvDialect:
    """Delimiters and special characters of a CSV format.

    >>> CsvDialect(delimiter=";").line(["a", None, "b;c"])
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
        """Raises ConfigError if the settings are invalid."""
        settings = (("field delimiter", self.delimiter), ("quote", self.quote), ("escape", self.escape))
        for name, character in settings:
            if character is not None and len(character) != 1:
                raise ConfigError("CSV_SIGN", f"The {name} of CSV is {character!r}; it must be one character.")
        if self.line_delimiter not in ("\n", "\r", "\r\n", ""):
            raise ConfigError(
                "CSV_SIGN",
                f"The line delimiter of CSV is {self.line_delimiter!r}; it must be \\n, \\r, \\r\\n or empty.",
            )

    def fields(self, lines: Sequence[str]) -> list[list[str]]:
        """Returns the fields of each line. Quoted fields may contain line breaks."""
        if self.escape is not None:
            lines = [self._replace_escapes(line) if self.escape in line else line for line in lines]
        rows = list(self.reader(lines))
        if len(rows) != len(lines):
            raise ValueError("a quote is not closed")
        return rows

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yields the fields of each row. Fields may span several lines."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            escapechar=self.escape,
            strict=True,
        )

    def _replace_escapes(self, line: str) -> str:
        """Replaces escape sequences for line breaks and tabs."""
        escape = self.escape or ""
        pairs = re.compile(re.escape(escape) + "(.)", re.DOTALL)
        return pairs.sub(lambda pair: escape + _CONTROLS.get(pair[1], pair[1]), line)

    def line(self, fields: Sequence[str | None], quotable: Sequence[bool] | None = None) -> str:
        """Formats a line of fields. `quotable` contains False for fields that never need quotes, such as numbers."""
        null = self.null or ""
        return (
            self.delimiter.join(
                null if f is None else self._quote_if_needed(f) if quotable is None or quotable[i] else f
                for i, f in enumerate(fields)
            )
            + self.line_delimiter
        )

    def _quote_if_needed(self, text: str) -> str:
        if self.quote is None:
            return text  # as in Flink, although the line may then be ambiguous
        # Like Flink, quotes every string with a character below the first one that is always safe.
        safe = max(map(ord, (self.delimiter, self.quote, "\r", "\n"))) + 1
        if len(text) <= _MAX_CHECKED and not any(ord(c) < safe or c == self.escape for c in text):
            return text
        if self.escape is not None:
            text = text.replace(self.escape, self.escape * 2)
        return f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}"
