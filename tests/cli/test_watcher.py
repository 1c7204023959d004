"""What a watcher makes of the reports of batches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.cli.failure import failure_of, without_stack
from penstock.cli.watcher import JobFacts, JsonWatcher, progress_line, summary_line


def report(read: int, out: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "read": {"0": read},
        "outputs": {"0": out},
        "late": {},
        "state_bytes": 1500,
        "watermarks": {"a": 7, "b": 5},
        **more,
    }


def test_facts_add_up() -> None:
    job = JobFacts("ads", "id", "/checkpoint")
    job.add(report(10, 2))
    job.add(report(5, 1, late={"window": 3}))
    assert (job.batches, job.read, job.written, job.late, job.watermark) == (2, 15, 3, 3, 5)
    assert progress_line(job).startswith("ads · batch 2 · 15 in · 3 out · ")
    assert progress_line(job).endswith("/s · 3 late · state 1.5 KB")
    assert "15 records in, 3 out, 2 batches" in summary_line(job)


def test_json_tells_each_thing(capsys: pytest.CaptureFixture[str]) -> None:
    watcher, job = JsonWatcher(), JobFacts("ads", "id", "/checkpoint")
    watcher.started(job)
    watcher.batch(job, report(10, 2))
    watcher.ended(job, False)
    out, err = capsys.readouterr()
    events = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert [e["event"] for e in events] == ["started", "batch", "finished"]
    assert (events[0]["checkpoint"], events[1]["read"], events[2]["read"]) == ("/checkpoint", {"0": 10}, 10)


def test_stacks_are_cut_off() -> None:
    text = "[STREAM_FAILED] It broke.\nTraceback (most recent call last):\n  File ...\n"
    assert without_stack(text) == "[STREAM_FAILED] It broke."
    assert without_stack("two\nlines") == "two\nlines"


def test_an_error_of_sparks_has_a_code() -> None:
    error = type("AnalysisException", (Exception,), {"__module__": "pyspark.errors.exceptions"})("No such table.")
    assert (failure_of(error).code, failure_of(error).text) == ("SPARK", "No such table.")
