"""`penstock savepoints check` with a script, and `penstock sql --from`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from tests.unit.table.upgrades.jobs import Runner
from tests.unit.table.upgrades.pairs import FIRST, SECOND, script

SUM = "INSERT INTO two SELECT who, SUM(price) FROM orders GROUP BY who"
OTHER_FILTER = SUM.replace("GROUP", "WHERE price > 6 GROUP")


class Saved:
    """A savepoint of a query, and scripts of changed ones."""

    def __init__(self, folder: Path, runner: Runner) -> None:
        self.folder, self.runner = folder, runner
        runner.write("orders", "1", FIRST)
        self.path = runner.run(script(SUM), {"": {"ann, 15": 1, "bob, 20": 1}})

    def script(self, insert: str) -> str:
        """Writes a script whose tables end, so that its job ends, too."""
        text = script(insert).replace("$FOLDER", str(self.folder)).replace(", 'source.monitor-interval' = '10 ms'", "")
        file = self.folder / "new.sql"
        file.write_text(text)
        return str(file)

    def check(self, insert: str, *options: str) -> Result:
        return CliRunner().invoke(app, ["savepoints", "check", self.path, self.script(insert), *options])


@pytest.fixture
def saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Saved:
    return Saved(tmp_path, Runner(tmp_path, capsys))


def test_the_check_lists_what_is_kept(saved: Saved) -> None:
    result = saved.check(SUM.replace("two", "three").replace("SUM(price)", "MIN(price), SUM(price)"))
    assert result.exit_code == 0, result.output
    assert "kept in part" in result.output
    assert "MIN(orders.price) starts empty" in result.output


def test_the_check_fails_if_state_is_lost(saved: Saved) -> None:
    result = saved.check(OTHER_FILTER)
    assert result.exit_code == 1
    assert "rebuilt" in result.output
    assert "--rebuild" in result.output


def test_the_check_as_json(saved: Saved) -> None:
    found = json.loads(saved.check(OTHER_FILTER, "--json").output)
    [verdict] = found["queries"]
    assert (verdict["name"], verdict["verdict"], verdict["entries"]) == ("group aggregate", "rebuilt", 2)
    assert found["fits"] is False


@pytest.mark.parametrize(
    ("insert", "options", "expected"),
    [
        (SUM, [], ["-U[ann, 15]", "+U[ann, 115]", "+I[cat, 7]"]),
        (OTHER_FILTER, ["--rebuild"], ["+I[bob, 20]", "+I[cat, 7]"]),
        (OTHER_FILTER, ["--allow-dropped-state"], ["+I[ann, 100]", "+I[cat, 7]"]),
    ],
    ids=["kept", "rebuilt", "empty"],
)
def test_a_script_starts_from_a_savepoint(saved: Saved, insert: str, options: list[str], expected: list[str]) -> None:
    saved.runner.write("orders", "2", SECOND)
    result = CliRunner().invoke(app, ["sql", "--local", "-f", saved.script(insert), "--from", saved.path, *options])
    assert result.exit_code == 0, result.output
    assert set(expected) <= set(result.output.splitlines())


def test_a_script_that_would_lose_state_is_refused(saved: Saved) -> None:
    result = CliRunner().invoke(app, ["sql", "--local", "-f", saved.script(OTHER_FILTER), "--from", saved.path])
    assert result.exit_code == 1
    assert "SAVEPOINT_QUERY_CHANGED" in result.output
