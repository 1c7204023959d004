"""`penstock list`, `info`, `logs`, `stop`, `cancel` on a registry that the tests fill."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.info import pages
from penstock.cli.main import app
from penstock.config import Configuration
from penstock.jobs import requests
from penstock.jobs.entry import Failure
from penstock.jobs.progress import OperatorFigures, Progress
from penstock.jobs.registry import Registry
from penstock.jobs.run import Run
from tests.jobs_registry.jobs import NOBODY, FakeJob, entry, report


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    return Registry(tmp_path)


def penstock(*arguments: str, width: int = 120) -> Result:
    return CliRunner(env={"COLUMNS": str(width)}).invoke(app, list(arguments))


def ended_run(registry: Registry, **more: Any) -> Run:
    run = Run(registry, entry(**more), [OperatorFigures("s", "numbers", "source")], Configuration())
    job = FakeJob()
    run.begin(job)
    job.reports = [report(0, 1234)]
    run.end("finished")
    return run


class EndsWhenAsked(FakeJob):
    """Ends its run as the engine does."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self.planned = True
        self.run = Run(registry, entry(), [], Configuration())
        self.run.begin(self)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        self.heard.wait(30)
        self.run.end("cancelled" if self.asked == ["cancel"] else "finished")


def test_an_empty_registry(registry: Registry) -> None:
    assert penstock("list").stdout == f"No jobs in {registry.folder}.\n"
    assert penstock("list", "--json").stdout == ""


def test_list_shows_what_runs_and_what_is_over(registry: Registry) -> None:
    ended_run(registry, job_id="done1")
    registry.write(entry("lost22", "orders", process=NOBODY, status="running"))
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


def test_info_tells_all(registry: Registry) -> None:
    ended_run(registry)
    text = penstock("info", "ads").stdout
    for words in (
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
        assert words in text, words
    assert "Go on with: penstock run ads.py --resume /checkpoints/a1b2c3" in text
    facts = json.loads(penstock("info", "a1b", "--json").stdout)
    assert (facts["status"], facts["progress"]["read"]) == ("finished", 1234)


def test_info_tells_what_was_put_aside_and_skipped() -> None:
    facts = next(iter(pages(entry(), Progress(batches=1, read=9, dead=2, skipped=1), 100)))
    assert "9 in, 0 out, 0 late, 2 put aside, 1 skipped" in str(facts)


def test_info_tells_why_a_job_failed(registry: Registry) -> None:
    error = Failure("USER_FUNCTION", "Operator [totals] raised ValueError: [red] is no number.")
    registry.write(entry(status="failed", error=error, ended=9.0))
    text = " ".join(penstock("info", "ads").stdout.split())
    assert "[USER_FUNCTION] Operator [totals] raised ValueError: [red] is no number." in text


def test_a_job_that_waits_says_for_what(registry: Registry) -> None:
    words = "waits for the checkpoint store since 12:03:20: No space left on device; tries again every 30 s"
    registry.write(entry(status="running", waits=words))
    assert words in penstock("info", "ads", width=200).stdout
    assert "running, waits" in penstock("list").stdout
    registry.write(entry(status="failed", waits=words, ended=9.0))
    assert "waits" not in penstock("list").stdout


def test_an_unknown_job_is_one_line(registry: Registry) -> None:
    for command in ("info", "logs", "stop", "cancel"):
        result = penstock(command, "nobody")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("penstock: [JOB_UNKNOWN] ")


@pytest.mark.parametrize(
    ("arguments", "action", "status"),
    [(("stop",), "stop", "finished"), (("stop", "--drain"), "drain", "finished"), (("cancel",), "cancel", "cancelled")],
)
def test_a_job_is_asked_to_end(registry: Registry, arguments: tuple[str, ...], action: str, status: str) -> None:
    job = EndsWhenAsked(registry)
    result = penstock(*arguments, "ads")
    assert (result.exit_code, result.stdout) == (0, f"a1b2c3 {status}\n")
    assert job.asked == [action]
    assert ("--resume /checkpoints/a1b2c3" in result.stderr) == (action != "drain")


def test_a_job_is_asked_to_take_less(registry: Registry) -> None:
    registry.write(entry(status="running"))
    result = penstock("limit", "ads", "5000")
    assert (result.exit_code, result.stdout) == (0, "a1b2c3 at most 5000 records of a source in a batch\n")
    assert requests.limit_asked(registry, "a1b2c3") == 5000
    assert penstock("limit", "ads", "0").exit_code == 2


def test_a_job_that_does_not_answer_in_time(registry: Registry) -> None:
    registry.write(entry(status="running"))
    result = penstock("stop", "ads", "--wait", "0.2")
    assert result.exit_code == 1
    assert result.stderr == "penstock: job a1b2c3 was asked to stop and is still running\n"


def test_a_dead_process_is_named(registry: Registry) -> None:
    registry.write(entry(status="running", process=NOBODY))
    result = penstock("cancel", "ads")
    assert result.exit_code == 1
    assert result.stderr.startswith("penstock: [JOB_LOST] Job a1b2c3 ('ads') has no process any more")


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


def test_following_a_log_ends_with_the_job(registry: Registry) -> None:
    job = EndsWhenAsked(registry)

    def later() -> None:
        with open(job.run.entry.log, "a", encoding="utf-8") as log:
            log.write("something new\n")
        job.end_by("stop")

    timer = threading.Timer(0.5, later)
    timer.start()
    text = penstock("logs", "ads", "--follow").stdout
    assert "something new\n" in text
    assert text.endswith("finished\n")
