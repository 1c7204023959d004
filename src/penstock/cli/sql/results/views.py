"""What the screen shows of a running query: its rows, or its last changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from rich.text import Text

from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.results.cells import Cells, kind_of
from penstock.cli.sql.results.materialized import MaterializedRows
from penstock.cli.sql.results.tableau import table_lines
from penstock.table.environment.answer import Answer

KIND_STYLES = {"+I": "green", "+U": "cyan", "-U": "dim", "-D": "red"}
_FRAME = 4  # lines of a table that are not rows


class View(Protocol):
    """A picture of a result."""

    changes: int

    def add(self, row: Any) -> None:
        """Applies a change."""
        ...

    def lines(self, width: int, height: int) -> list[Text]:
        """The picture in a space of some lines and columns."""
        ...

    def hidden(self, height: int) -> str:
        """What the picture leaves out, such as '12 more rows above'; empty if nothing."""
        ...


class TableView:
    """The rows of the result after all changes."""

    def __init__(self, answer: Answer, options: ClientOptions) -> None:
        self.changes = 0
        self._names = [field.name for field in answer.row_type.fields]
        self._cells = Cells(answer, options.zone)
        self._rows = MaterializedRows(options.max_rows)
        self._max_width = options.max_width

    def add(self, row: Any) -> None:
        self.changes += 1
        self._rows.apply(kind_of(row), self._cells.texts(row))

    def lines(self, width: int, height: int) -> list[Text]:
        rows = [list(row) for row in self._rows.rows(max(height - _FRAME, 1))]
        return [Text(line) for line in table_lines(self._names, rows, self._max_width)]

    def hidden(self, height: int) -> str:
        return _above(len(self._rows), self._rows.dropped, height, "row")


class ChangelogView:
    """The last changes of the result."""

    def __init__(self, answer: Answer, options: ClientOptions) -> None:
        self.changes = 0
        self._names = ["op", *(field.name for field in answer.row_type.fields)]
        self._cells = Cells(answer, options.zone)
        self._last: deque[Sequence[str]] = deque(maxlen=options.max_rows)
        self._max_width = options.max_width

    def add(self, row: Any) -> None:
        self.changes += 1
        self._last.append([kind_of(row), *self._cells.texts(row)])

    def lines(self, width: int, height: int) -> list[Text]:
        shown = max(height - _FRAME, 1)
        rows = [list(row) for row in list(self._last)[-shown:]]
        lines = [Text(line) for line in table_lines(self._names, rows, self._max_width)]
        at = 3
        for row in rows:
            lines[at].stylize(KIND_STYLES[row[0]])
            at += 1
        return lines

    def hidden(self, height: int) -> str:
        return _above(len(self._last), self.changes - len(self._last), height, "change")


def _above(kept: int, dropped: int, height: int, noun: str) -> str:
    above = max(kept - max(height - _FRAME, 1), 0) + dropped
    return f"{above:,} more {noun}{'s' if above > 1 else ''} above" if above else ""
