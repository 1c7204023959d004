"""`penstock list`, `info`, `logs`, `stop`, `cancel`, on a registry that the tests fill."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.jobs.info import job_report
from penstock.cli.main import app
from penstock.config import Configuration
from penstock.jobs.actions.logs import read_log
from penstock.jobs.registry import requests
from penstock.jobs.registry.entry import Failure
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.progress import OperatorProgress, Progress
from penstock.jobs.registry.registry import Registry
from penstock.jobs.run.run import Run
from tests.unit.jobs.jobs import DEAD_PROCESS, FakeJob, StoppableJob, entry, report


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    return Registry(tmp_path)


def penstock(*arguments: str, width: int = 120) -> Result:
    return CliRunner(env={"COLUMNS": str(width)}).invoke(app, list(arguments))


def ended_run(registry: Registry, **more: Any) -> Run:
    run = Run(registry, entry(**more), [OperatorProgress("s", "numbers", "source")], Configuration())
    job = FakeJob()
    run.begin(job)
    job.reports = [report(0, 1234)]
    run.end("finished")
    return run


def test_an_empty_registry(registry: Registry) -> None:
    assert penstock("list").stdout == f"No jobs in {registry.folder}.\n"
    assert penstock("list", "--json").stdout == ""


def test_list_shows_running_and_ended_jobs(registry: Registry) -> None:
    ended_run(registry, job_id="done1")
    registry.write(entry("lost22", "orders", process=DEAD_PROCESS, status="running"))
    registry.write(entry("runs33", "clicks", status="running"))
    rows = {line.split()[0]: line for line in penstock("list").stdout.splitlines() if line.strip()}
    assert "finished" in rows["done1"]
    assert "1,234" in rows["done1"]
    assert "lost" in rows["lost22"].split()
    assert "running" in rows["runs33"]
    only = penstock("list", "--running").stdout
    assert "runs33" in only
    assert "lost22" not in only
    facts = [json.loads(line) for line in penstock("list", "--json", "-n", "2").stdout.splitlines()]
    assert {f["id"]: f["status"] for f in facts} == {"lost22": "lost", "runs33": "running"}


def test_list_fits_a_narrow_terminal(registry: Registry) -> None:
    ended_run(registry, name="a name that is much longer than it should be for a job")
    text = penstock("list", width=50).stdout.splitlines()
    assert max(map(len, text)) <= 50
    assert len([line for line in text if "a1b2c3" in line]) == 1


def test_a_long_name_does_not_hide_the_status(registry: Registry) -> None:
    ended_run(registry, name="n" * 300)
    for width in (50, 80):
        assert "finished" in penstock("list", width=width).stdout


def test_a_pipe_gets_whole_lines(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    checkpoint = f"/checkpoints/{'long/' * 60}a1b2c3"
    ended_run(registry, checkpoint=checkpoint)
    assert f"checkpoint     {checkpoint}\n" in CliRunner().invoke(app, ["info", "ads"]).stdout
    assert "started" in CliRunner().invoke(app, ["list"]).stdout, "all columns"


def test_info_shows_all_details(registry: Registry) -> None:
    ended_run(registry)
    text = penstock("info", "ads").stdout
    for text_part in (
        "a1b2c3",
        "finished",
        "ads.py",
        "/checkpoints/a1b2c3",
        "local[2]",
        "1,234",
        "numbers",
        "totals.hits",
        "0.2 s",
    ):
        assert text_part in text, text_part
    assert "Resume with" not in text  # its input has ended
    facts = json.loads(penstock("info", "a1b", "--json").stdout)
    assert (facts["status"], facts["progress"]["read"]) == ("finished", 1234)


def test_info_shows_how_to_resume_a_job() -> None:
    stopped = entry(status="failed", ended=9.0, launch=Launch("ads.py", [], ""))
    *_, command = job_report(stopped, Progress(batches=1), 100)
    assert str(command) == "Resume with: penstock resume a1b2c3"


def test_info_shows_dead_letters_and_skipped_records() -> None:
    facts = next(iter(job_report(entry(), Progress(batches=1, read=9, dead=2, skipped=1), 100)))
    assert "9 in, 0 out, 0 late, 2 dead letters, 1 skipped" in str(facts)


def test_info_shows_the_error_of_a_failed_job(registry: Registry) -> None:
    error = Failure("USER_FUNCTION", "Operator [totals] raised ValueError: [red] is no number.")
    registry.write(entry(status="failed", error=error, ended=9.0))
    text = " ".join(penstock("info", "ads").stdout.split())
    assert "[USER_FUNCTION] Operator [totals] raised ValueError: [red] is no number." in text


def test_a_waiting_job_shows_what_it_waits_for(registry: Registry) -> None:
    text_part = "waits for checkpoint storage since 12:03:20: No space left on device; retries every 30 s"
    registry.write(entry(status="running", waits=text_part))
    assert text_part in penstock("info", "ads", width=200).stdout
    assert "running, waits" in penstock("list").stdout
    registry.write(entry(status="failed", waits=text_part, ended=9.0))
    assert "waits" not in penstock("list").stdout


def test_an_unknown_job_is_an_error_of_one_line(registry: Registry) -> None:
    for command in ("info", "logs", "stop", "cancel"):
        result = penstock(command, "nobody")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("penstock: [JOB_UNKNOWN] ")


@pytest.mark.parametrize(
    ("arguments", "action", "status"),
    [(("stop",), "stop", "finished"), (("stop", "--drain"), "drain", "finished"), (("cancel",), "cancel", "cancelled")],
)
def test_stop_drain_and_cancel_end_a_job(
    registry: Registry, arguments: tuple[str, ...], action: str, status: str
) -> None:
    job = StoppableJob(registry)
    result = penstock(*arguments, "ads")
    assert (result.exit_code, result.stdout) == (0, f"a1b2c3 {status}\n")
    assert job.actions == [action]
    assert ("--resume /checkpoints/a1b2c3" in result.stderr) == (action != "drain")


def test_limit_writes_a_request(registry: Registry) -> None:
    registry.write(entry(status="running"))
    result = penstock("limit", "ads", "5000")
    assert (result.exit_code, result.stdout) == (0, "a1b2c3 at most 5000 records per source in a batch\n")
    assert requests.read_limit(registry, "a1b2c3") == 5000
    assert penstock("limit", "ads", "0").exit_code == 2


def test_a_job_that_does_not_end_in_time(registry: Registry) -> None:
    registry.write(entry(status="running"))
    result = penstock("stop", "ads", "--wait", "0.2")
    assert result.exit_code == 1
    assert result.stderr == "penstock: job a1b2c3 was asked to stop and is still running\n"


def test_a_lost_job_is_an_error(registry: Registry) -> None:
    registry.write(entry(status="running", process=DEAD_PROCESS))
    result = penstock("cancel", "ads")
    assert result.exit_code == 1
    assert result.stderr.startswith("penstock: [JOB_LOST] The process of job a1b2c3 ('ads') does not run any more")


def test_logs_of_a_finished_job(registry: Registry) -> None:
    run = ended_run(registry)
    with open(run.entry.log, "a", encoding="utf-8") as log:
        log.write("one\ntwo [bold]\nthree\n")
    assert penstock("logs", "ads", "-n", "2").stdout == "two [bold]\nthree\n"
    assert penstock("logs", "ads").stdout == Path(run.entry.log).read_text()
    assert penstock("logs", "ads", "--follow", "-n", "1").stdout == "three\n"
    Path(run.entry.log).unlink()
    result = penstock("logs", "ads")
    assert result.exit_code == 1
    assert "[NO_LOG]" in result.stderr


def test_following_a_log_ends_with_the_job(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    job = StoppableJob(registry)
    first_read = threading.Event()

    def read_and_notify(*arguments: Any, **options: Any) -> Iterator[str]:
        for text in read_log(*arguments, **options):
            yield text
            first_read.set()

    def append_and_stop() -> None:
        first_read.wait(120)
        with open(job.run.entry.log, "a", encoding="utf-8") as log:
            log.write("something new\n")
        job.request_end("stop")

    monkeypatch.setattr("penstock.cli.jobs.logs.read_log", read_and_notify)
    writer = threading.Thread(target=append_and_stop)
    writer.start()
    text = penstock("logs", "ads", "--follow").stdout
    writer.join()
    assert "something new\n" in text
    assert text.endswith("finished\n")
