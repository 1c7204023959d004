"""The output of watchers: a board that fits the terminal, plain lines, or JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.render.board import job_board, progress_line, summary_line
from penstock.cli.render.error_exit import describe_error, without_stack
from penstock.cli.run.watcher import JsonWatcher, TerminalWatcher
from penstock.jobs.registry.progress import OperatorProgress, Progress, StageProgress
from penstock.jobs.run.tally import Tally
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from tests.unit.jobs.jobs import entry, report

NINE = 1_767_258_000_000


def tally(watermark: int = NINE) -> Tally:
    found = Tally(
        [
            OperatorProgress("s", "numbers", "source"),
            OperatorProgress("w", "per minute", "operator"),
            OperatorProgress("out", "print", "sink"),
        ],
        now=100.0,
    )
    flows = {"s": [0, 5000], "w": [5000, 40], "out": [40, 0]}
    found.add(report(0, flows=flows, late={"w": 3}, watermarks={"w": watermark}), now=102.0)
    found.set_batch_millis({0: 1250})
    return found


def shown(width: int, progress: Progress | None = None) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(job_board(entry(status="running"), progress or tally().progress, width))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_progress_line() -> None:
    line = progress_line(entry(started=0.0, ended=12.0), tally().progress)
    assert line.startswith(
        "ads · 12 s · batch 1 (1.2 s) · 5,000 in · 40 out · 2,500/s · 3 late · event time 2026-01-01 09:00:00 (lag "
    )
    assert line.endswith(" · state 1.5 KB")


@pytest.mark.parametrize(("mark", "event_time"), [(MIN_WATERMARK, ""), (MAX_WATERMARK, "event time end · ")])
def test_a_watermark_at_either_end_has_no_lag(mark: int, event_time: str) -> None:
    line = progress_line(entry(started=0.0, ended=12.0), tally(mark).progress)
    assert line.endswith(f"3 late · {event_time}state 1.5 KB")


def test_before_the_first_batch_there_are_no_totals() -> None:
    assert shown(100, Progress())[0].startswith("ads · starting · ")
    assert len(shown(100, Progress())) == 1


def test_a_running_batch_job_shows_its_stages() -> None:
    stages = [StageProgress("numbers", 4, 4), StageProgress("totals", 8, 3), StageProgress("top")]
    line = progress_line(entry(batch=True, checkpoint=""), Progress(stages=stages))
    assert line.startswith("ads · stage 2 of 3: totals (3 of 8 tasks) · ")
    done = [StageProgress("numbers", 4, 4), StageProgress("totals", 8, 8)]
    assert "stage 2 of 2: totals (8 of 8 tasks)" in progress_line(entry(), Progress(stages=done))


def test_a_wide_terminal_shows_all_columns() -> None:
    text = shown(120)
    heading = next(line for line in text if line.startswith("operator"))
    assert heading.split() == ["operator", "in", "in/s", "out", "out/s", "late", "event", "time", "lag"]
    row = next(line for line in text if line.startswith("per minute"))
    assert row.split()[2:9] == ["5,000", "2,500", "40", "20", "3", "2026-01-01", "09:00:00"]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (99, ["operator", "in", "in/s", "out", "out/s", "late"]),
        (64, ["operator", "in", "in/s", "out", "out/s"]),
        (44, ["operator", "in/s", "out/s"]),
    ],
)
def test_a_narrow_terminal_shows_fewer_columns_and_no_wrapped_lines(width: int, columns: list[str]) -> None:
    text = shown(width)
    heading = next(i for i, line in enumerate(text) if line.startswith("operator"))
    assert text[heading].split() == columns
    assert len(text) - heading == 5  # heading, rule, three operators; nothing is wrapped
    assert max(map(len, text)) <= width


def test_a_very_narrow_terminal_shows_only_the_line() -> None:
    assert not any("operator" in line for line in shown(30))


def test_operators_with_the_same_name_get_unique_labels() -> None:
    sinks = [OperatorProgress("sink-1", "print", "sink"), OperatorProgress("sink-2", "print", "sink")]
    progress = Progress(batches=1, operators=[OperatorProgress("s", "numbers", "source"), *sinks])
    assert [line.split("  ")[0] for line in shown(100, progress)[2:]][-3:] == [
        "numbers",
        "print (sink-1)",
        "print (sink-2)",
    ]
    console = Console(file=io.StringIO(), width=100)
    TerminalWatcher(console).print_summary(entry(status="finished"), progress)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "  numbers: 0 out" in printed
    assert "  print (sink-2): 0 in" in printed


def test_the_summary_line() -> None:
    job = entry(started=0.0, ended=10.0, status="finished")
    assert summary_line(job, tally().progress) == (
        "'ads' finished in 10 s: 5,000 records in, 40 out, 3 late, 1 batch, 500 records/s"
    )
    job.stopped = "stop"
    assert summary_line(job, tally().progress).startswith("'ads' was stopped after 10 s: ")


def terminal(**more: Any) -> Console:
    return Console(file=io.StringIO(), width=100, highlight=False, **more)


def play_job(watcher: TerminalWatcher, status: str = "finished") -> str:
    job, found = entry(), tally()
    watcher.on_created(job)
    watcher.on_batch(job, found.progress, report(0))
    job.status, job.ended = status, job.started + 10  # type: ignore[assignment]
    watcher.on_ended(job, found.progress)
    text: str = watcher.console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_without_a_terminal_there_are_plain_lines() -> None:
    assert play_job(TerminalWatcher(terminal())).splitlines() == [
        "penstock: job a1b2c3, checkpoint /checkpoints/a1b2c3",
        "penstock: 'ads' finished in 10 s: 5,000 records in, 40 out, 3 late, 1 batch, 500 records/s",
        "penstock:   numbers: 5,000 out",
        "penstock:   per minute: 5,000 in, 40 out, 3 late",
        "penstock:   print: 40 in",
    ]


def test_progress_lines_are_limited_by_the_interval() -> None:
    watcher = TerminalWatcher(terminal(), line_interval=0.0)
    assert [line for line in play_job(watcher).splitlines() if " · batch 1 (1.2 s) · " in line]
    watcher = TerminalWatcher(terminal(), line_interval=60.0)
    assert " · batch " not in play_job(watcher)


def test_a_terminal_shows_a_board_and_a_table_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = play_job(TerminalWatcher(terminal(force_terminal=True)))
    assert "\x1b[" in text
    assert "out/s" in text


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> str:
        console = terminal(force_terminal=True, color_system="standard")
        console.print(job_board(entry(status="running"), tally().progress, 100))
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36m" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in drawn()


def test_a_dumb_terminal_has_no_board(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b[2K" not in play_job(TerminalWatcher(terminal(force_terminal=True)))


def test_a_failed_job_has_no_summary() -> None:
    assert "records in" not in play_job(TerminalWatcher(terminal()), "failed")


def test_json_events(capsys: pytest.CaptureFixture[str]) -> None:
    watcher, job, found = JsonWatcher(), entry(), tally()
    watcher.on_created(job)
    watcher.on_batch(job, found.progress, report(0, 10))
    watcher.on_message(job, "waits for something")
    job.status = "finished"
    watcher.on_ended(job, found.progress)
    out, err = capsys.readouterr()
    events = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert [e["event"] for e in events] == ["started", "batch", "told", "finished"]
    assert events[2]["text"] == "waits for something"
    assert (events[0]["checkpoint"], events[1]["flows"]["s"], events[3]["read"]) == (
        "/checkpoints/a1b2c3",
        [0, 10],
        5000,
    )
    assert events[3]["operators"][1]["late"] == 3


def test_stack_traces_are_removed() -> None:
    text = "[STREAM_FAILED] It broke.\nTraceback (most recent call last):\n  File ...\n"
    assert without_stack(text) == "[STREAM_FAILED] It broke."
    assert without_stack("two\nlines") == "two\nlines"


def test_the_creation_site_of_a_spark_context_is_removed() -> None:
    text = (
        "An error occurred while calling o85.stop.\n: java.lang.IllegalStateException: Cannot call methods on a stopped "
        "SparkContext.\nThis stopped SparkContext was created at:\n\n"
        "org.apache.spark.api.java.JavaSparkContext.<init>(JavaSparkContext.scala:59)\n"
    )
    assert without_stack(text).endswith("Cannot call methods on a stopped SparkContext.")
    assert (
        without_stack("It broke.\norg.apache.spark.api.java.JavaSparkContext.<init>(JavaSparkContext.scala:59)")
        == "It broke."
    )


def test_an_error_of_spark_has_a_code() -> None:
    error = type("AnalysisException", (Exception,), {"__module__": "pyspark.errors.exceptions"})("No such table.")
    assert (describe_error(error).code, describe_error(error).message) == ("SPARK", "No such table.")
