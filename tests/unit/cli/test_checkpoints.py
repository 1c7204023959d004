"""`penstock checkpoints` on a history that the tests write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.jobs.checkpoints import Checkpoint, Measured, OperatorPart, SinkPart, SourcePart, TaskFigures, Unfinished
from penstock.jobs.history import History
from penstock.jobs.registry import Registry
from tests.jobs_registry.jobs import entry


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    registry = Registry(tmp_path)
    registry.write(entry("a1b2c3", "orders", status="running"))
    return History(registry.job_folder("a1b2c3"))


def penstock(*arguments: str, width: int = 120) -> Result:
    return CliRunner(env={"COLUMNS": str(width)}).invoke(app, list(arguments))


def completed(number: int) -> Checkpoint:
    begun = 1_767_258_000.0 + number
    return Checkpoint(
        number,
        acknowledged_tasks=2,
        all_tasks=2,
        measured=Measured(begun, 0.9, planning=0.1, logging=0.05, storing=[0.04], loading=[0.01], files=4),
        tasks=[
            TaskFigures(0, 0, begun + 0.1, 500, run=0.2),
            TaskFigures(1, 0, begun + 0.4, 500, 0.01, 0.3, 0.02, 2_000_000, 30_000, "laptop:77"),
        ],
        operators=[OperatorPart("t", "totals", 1, 500, 20, 0.3, 0.3, 1.4, 60, 30_000, None, [("'anna'", 0.4)])],
        sources=[SourcePart("s", "orders", 500, 0.1, lag=1200)],
        sinks=[SinkPart("f", "files", 20, 0.01, 0.02, 3, 3000)],
    )


def test_one_a_row(history: History) -> None:
    history.add([completed(6), Checkpoint(7, "failed", "the disk is full"), completed(7)])
    history.put_current(Checkpoint(8, "in progress", acknowledged_tasks=1, all_tasks=2))
    shown = penstock("checkpoints", "orders").stdout
    rows = [line.split() for line in shown.splitlines()[2:6]]
    assert [row[:3] for row in rows] == [
        ["6", "completed", "2/2"],
        ["7", "failed", "0/0"],
        ["7", "completed", "2/2"],
        ["8", "in", "progress"],
    ]
    assert rows[0][4:] == ["+730", "ms", "900", "ms", "500", "2.0", "MB", "30.0", "KB", "4"]
    assert "7 failed: the disk is full" in shown


def test_only_the_last(history: History) -> None:
    history.add([completed(number) for number in range(30)])
    lines = penstock("checkpoints", "orders", "--last", "3", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [27, 28, 29]


def test_one_in_full(history: History) -> None:
    history.add([completed(6)])
    shown = penstock("checkpoints", "orders", "6").stdout
    for expected in (
        "900 ms, of it 530 ms for the elements",
        "planning 100 ms, logs 50 ms, state 80 ms",
        "'anna' 40%",
        "level 1 slot 0   400 ms",
        "laptop:77",
        "3 of 1.0 KB",
        "1,200",
    ):
        assert expected in shown, shown


def test_for_programs(history: History) -> None:
    history.add([completed(6)])
    [told] = [json.loads(line) for line in penstock("checkpoints", "orders", "6", "--json").stdout.splitlines()]
    assert (told["seconds"], told["work"], told["overhead"], told["files"]) == (0.9, 0.53, 0.37, 4)
    assert told["operators"][0]["hot"] == [["'anna'", 0.4]]
    assert told["latest_acknowledged"] == pytest.approx(1_767_258_006.73)


def test_what_one_in_progress_waits_for(history: History) -> None:
    history.put_current(Checkpoint(8, "in progress", all_tasks=2, waits_for=[Unfinished(1, 1, "node-3", 42.4)]))
    assert "waits for level 1 slot 1 on node-3 since 42 s" in penstock("checkpoints", "orders", "8").stdout


def test_narrow_terminals_get_fewer_columns(history: History) -> None:
    history.add([completed(6)])
    for arguments in (("orders",), ("orders", "6")):
        shown = penstock("checkpoints", *arguments, width=60).stdout
        assert max(map(len, shown.splitlines())) <= 60
        assert "…" not in shown


def test_one_that_is_not_there(history: History) -> None:
    assert penstock("checkpoints", "orders").stdout == "Job a1b2c3 has no checkpoints yet.\n"
    history.add([completed(6)])
    result = penstock("checkpoints", "orders", "9")
    assert result.exit_code == 1
    assert "CHECKPOINT_UNKNOWN" in result.stderr
