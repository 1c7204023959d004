"""The texts of all result modes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.sql.client_options import ResultMode
from penstock.cli.sql.prompt.screen import Screen
from penstock.cli.sql.results.canvas import Canvas
from penstock.cli.sql.results.plot import PlotView
from penstock.cli.sql.results.tableau import print_tableau
from penstock.cli.sql.results.views import ChangelogView, TableView
from penstock.errors import SqlValidationError
from penstock.table.environment.answer import Answer, names_answer, text_answer
from penstock.types.logical.kinds import BIGINT, STRING, LogicalType, TimestampType
from tests.unit.cli.sql.sample import COUNTS, options, query, row_of

TABLEAU = """\
+----+--------------------------------+----------------------+
| op |                          color |                    n |
+----+--------------------------------+----------------------+
| +I |                            red |                    1 |
| +I |                           blue |                    1 |
| -U |                            red |                    1 |
| +U |                            red |                    2 |
| -D |                           blue |                    1 |
+----+--------------------------------+----------------------+
Received a total of 5 rows
"""

TABLE = """\
+-------+---+
| color | n |
+-------+---+
|   red | 2 |
+-------+---+
Received a total of 5 rows
"""

CHANGELOG = """\
+----+-------+---+
| op | color | n |
+----+-------+---+
| +I |   red | 1 |
| +I |  blue | 1 |
| -U |   red | 1 |
| +U |   red | 2 |
| -D |  blue | 1 |
+----+-------+---+
Received a total of 5 rows
"""


def printed(answer: Answer, **changed: Any) -> str:
    file = io.StringIO()
    print_tableau(answer, options(**changed), file)
    return file.getvalue()


def on_screen(answer: Answer, mode: ResultMode) -> str:
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=False)
    Screen(console).answer(answer, options(mode))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def test_tableau_is_that_of_flink() -> None:
    assert printed(query()) == TABLEAU


def test_a_streaming_query_without_rows() -> None:
    # Flink's client prints the head, and "0 row".
    assert printed(query([])).splitlines()[-1] == "Received a total of 0 row"
    assert len(printed(query([])).splitlines()) == 4


def test_a_batch_query_is_as_wide_as_its_values() -> None:
    answer = query([("+I", "red", None), ("+I", "blue", 10)], streaming=False)
    assert printed(answer) == (
        "+-------+--------+\n"
        "| color |      n |\n"
        "+-------+--------+\n"
        "|   red | <NULL> |\n"
        "|  blue |     10 |\n"
        "+-------+--------+\n"
        "2 rows in set\n"
    )
    assert printed(query([], streaming=False)) == "Empty set\n"


def test_long_texts_of_queries_are_cut() -> None:
    answer = query([("+I", "abcdefghijkl", 1)], streaming=False)
    assert "| abcde... |" in printed(answer, max_width=8)


def test_lists_and_plans() -> None:
    assert printed(names_answer("table name", ["t"])) == (
        "+------------+\n| table name |\n+------------+\n|          t |\n+------------+\n1 row in set\n"
    )
    assert printed(names_answer("table name", [])) == "Empty set\n"
    assert printed(text_answer("== Plan ==\nScan", "text")) == "== Plan ==\nScan\n"


@pytest.mark.parametrize(("mode", "expected"), [("table", TABLE), ("changelog", CHANGELOG), ("tableau", TABLEAU)])
def test_modes_on_the_screen(mode: ResultMode, expected: str) -> None:
    answer = query()
    assert on_screen(answer, mode).lstrip("\n") == expected
    assert answer.rows.closed  # type: ignore[attr-defined]


def test_ctrl_c_closes_the_query_and_leaves_its_rows() -> None:
    answer = query(interrupt=True)
    console = Console(file=io.StringIO(), width=80, height=24)
    with pytest.raises(KeyboardInterrupt):
        Screen(console).answer(answer, options("table"))
    assert answer.rows.closed  # type: ignore[attr-defined]
    assert "|   red | 2 |" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_screen_shows_the_last_rows() -> None:
    view = TableView(query(), options("table", max_rows=50))
    for number in range(60):
        view.add(row_of("+I", f"c{number}", number))
    lines = [line.plain for line in view.lines(80, 10)]
    assert len(lines) == 10
    assert "c59" in lines[-2]
    assert view.hidden(10) == "54 more rows above"
    changes = ChangelogView(query(), options("changelog"))
    for change in COUNTS:
        changes.add(row_of(*change))
    assert changes.hidden(6) == "3 more changes above"


def test_a_plot_over_the_time_of_rows() -> None:
    now = iter(range(100))
    view = PlotView(query(), options("plot"), clock=lambda: float(next(now)))
    for change in COUNTS:
        view.add(row_of(*change))
    assert view.series == {"red": {1.0: 1.0, 3.0: 2.0}, "blue": {2.0: 1.0}}
    lines = [line.plain for line in view.lines(40, 8)]
    assert lines[0].startswith("         2 ┤")
    assert lines[-1].strip() == "━ red 2  ━ blue 1"
    assert lines[-2].split() == ["1.0", "s", "3.0", "s"]


def test_a_plot_over_a_time_column_takes_updates() -> None:
    from datetime import datetime

    columns: list[tuple[str, LogicalType]] = [("at", TimestampType(3)), ("n", BIGINT), ("m", BIGINT)]
    first, second = datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 1)
    view = PlotView(query(columns=columns), options("plot"))
    for change in [("+I", first, 1, 5), ("+I", second, 2, 6), ("-U", first, 1, 5), ("+U", first, 3, None)]:
        view.add(row_of(*change))
    assert sorted(view.series["n"].values()) == [2.0, 3.0]
    assert list(view.series["m"].values()) == [6.0]
    assert "2024-01-01 00:00:00" in view.lines(60, 8)[-2].plain


def test_a_plot_needs_numbers() -> None:
    answer = query([], columns=[("color", STRING)])
    with pytest.raises(SqlValidationError, match="SQL_PLOT"):
        Screen(Console(file=io.StringIO())).answer(answer, options("plot"))
    assert answer.rows.closed  # type: ignore[attr-defined]


def test_dots_outside_of_the_canvas_are_not_drawn() -> None:
    canvas = Canvas(2, 1)
    canvas.dot(-1, 0)
    canvas.dot(4, 0)
    assert [line.plain for line in canvas.lines()] == ["⠀⠀"]
