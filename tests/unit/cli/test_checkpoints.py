"""`penstock checkpoints`, on a history that the tests write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.jobs.registry.checkpoint_stats import (
    CheckpointStats,
    OperatorStats,
    SinkStats,
    SourceStats,
    SparkTimings,
    TaskStats,
    UnfinishedTask,
)
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import Registry
from tests.unit.jobs.jobs import entry


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckpointHistory:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    registry = Registry(tmp_path)
    registry.write(entry("a1b2c3", "orders", status="running"))
    return CheckpointHistory(registry.job_folder("a1b2c3"))


def penstock(*arguments: str, width: int = 120) -> Result:
    return CliRunner(env={"COLUMNS": str(width)}).invoke(app, list(arguments))


def completed(number: int) -> CheckpointStats:
    began = 1_767_258_000.0 + number
    return CheckpointStats(
        number,
        acknowledged_tasks=2,
        all_tasks=2,
        measured=SparkTimings(began, 0.9, planning=0.1, logging=0.05, storing=[0.04], loading=[0.01], files=4),
        tasks=[
            TaskStats(0, 0, began + 0.1, 500, run=0.2),
            TaskStats(1, 0, began + 0.4, 500, 0.01, 0.3, 0.02, 2_000_000, 30_000, "laptop:77", 450_000),
        ],
        operators=[OperatorStats("t", "totals", 1, 500, 20, 0.3, 0.3, 1.4, 60, 30_000, None, [("'anna'", 0.4)])],
        sources=[SourceStats("s", "orders", 500, 0.1, lag=1200)],
        sinks=[SinkStats("f", "files", 20, 0.01, 0.02, 3, 3000)],
    )


def test_lists_one_checkpoint_per_row(history: CheckpointHistory) -> None:
    history.add([completed(6), CheckpointStats(7, "failed", "the disk is full"), completed(7)])
    history.write_current(CheckpointStats(8, "in progress", acknowledged_tasks=1, all_tasks=2))
    shown = penstock("checkpoints", "orders").stdout
    rows = [line.split() for line in shown.splitlines()[2:6]]
    assert [row[:3] for row in rows] == [
        ["6", "completed", "2/2"],
        ["7", "failed", "0/0"],
        ["7", "completed", "2/2"],
        ["8", "in", "progress"],
    ]
    assert rows[0][4:] == ["+730", "ms", "900", "ms", "500", "2.0", "MB", "450.0", "KB", "30.0", "KB", "4"]
    assert "7 failed: the disk is full" in shown


def test_last_limits_the_list(history: CheckpointHistory) -> None:
    history.add([completed(number) for number in range(30)])
    lines = penstock("checkpoints", "orders", "--last", "3", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [27, 28, 29]


def test_shows_one_checkpoint_in_detail(history: CheckpointHistory) -> None:
    history.add([completed(6)])
    shown = penstock("checkpoints", "orders", "6").stdout
    for expected in (
        "900 ms, 530 ms of it for the elements",
        "planning 100 ms, logs 50 ms, state 80 ms",
        "'anna' 40%",
        "level 1 slot 0   400 ms",
        "laptop:77",
        "3 of 1.0 KB",
        "1,200",
        "2.0 MB; log 450.0 KB; written 30.0 KB",
    ):
        assert expected in shown, shown


def test_json_output(history: CheckpointHistory) -> None:
    history.add([completed(6)])
    [output] = [json.loads(line) for line in penstock("checkpoints", "orders", "6", "--json").stdout.splitlines()]
    assert (output["seconds"], output["work"], output["overhead"], output["files"]) == (0.9, 0.53, 0.37, 4)
    assert (output["state_bytes"], output["state_log_bytes"]) == (2_000_000, 450_000)
    assert output["operators"][0]["hot"] == [["'anna'", 0.4]]
    assert output["latest_acknowledged"] == pytest.approx(1_767_258_006.73)


def test_shows_the_tasks_that_a_checkpoint_in_progress_waits_for(history: CheckpointHistory) -> None:
    history.write_current(
        CheckpointStats(8, "in progress", all_tasks=2, waits_for=[UnfinishedTask(1, 1, "node-3", 42.4)])
    )
    assert "waiting for level 1 slot 1 on node-3 for 42 s" in penstock("checkpoints", "orders", "8").stdout


def test_narrow_terminals_show_fewer_columns(history: CheckpointHistory) -> None:
    history.add([completed(6)])
    for arguments in (("orders",), ("orders", "6")):
        shown = penstock("checkpoints", *arguments, width=60).stdout
        assert max(map(len, shown.splitlines())) <= 60
        assert "…" not in shown


def test_an_unknown_checkpoint_is_an_error(history: CheckpointHistory) -> None:
    assert penstock("checkpoints", "orders").stdout == "Job a1b2c3 has no checkpoints yet.\n"
    history.add([completed(6)])
    result = penstock("checkpoints", "orders", "9")
    assert result.exit_code == 1
    assert "CHECKPOINT_UNKNOWN" in result.stderr
