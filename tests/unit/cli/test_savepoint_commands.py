"""`penstock savepoint`, `stop --savepoint`, and `savepoints list`, `show`, `verify`, `delete`, `prune`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock import StreamExecutionEnvironment
from penstock.config import Configuration
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.savepoint_requests import (
    SavepointProgress,
    list_savepoint_progress,
    write_savepoint_progress,
)
from penstock.jobs.run.run import Run
from penstock.savepoints import SavedOperator, SavedSource, SavedState, open_savepoint, publish
from penstock.testing import Harness, PushSource
from tests.unit.cli.test_jobs_commands import penstock
from tests.unit.jobs.jobs import DEAD_PROCESS, FakeJob, StoppableJob, entry
from tests.unit.savepoints.test_catalogue import running, save


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return Registry(tmp_path / "home")


def test_a_savepoint_of_a_running_job(registry: Registry, tmp_path: Path) -> None:
    run = Run(registry, entry("abc"), [], Configuration())
    run.begin(FakeJob())
    shown = penstock("savepoint", "abc", "--to", str(tmp_path))
    assert shown.exit_code == 0
    assert shown.stdout == f"{tmp_path}/savepoint\n"
    assert "batch 7" in shown.stderr
    assert "3.5 MB in 2 files" in shown.stderr
    assert f"--from-savepoint {tmp_path}/savepoint" in shown.stderr
    found = json.loads(penstock("savepoint", "abc", "--to", str(tmp_path), "--json").stdout)
    assert (found["status"], found["written"]) == ("done", 2)
    failed = penstock("savepoint", "abc", "--to", str(tmp_path / "fails"))
    assert failed.exit_code == 1
    assert failed.stderr == "penstock: [SAVEPOINT_UNWRITABLE] It cannot be written.\n"
    assert [a.status for a in list_savepoint_progress(registry, "abc")] == ["done", "done", "failed"]
    run.end("finished")
    assert "JOB_OVER" in penstock("savepoint", "abc").stderr


def test_stop_with_a_savepoint(registry: Registry, tmp_path: Path) -> None:
    job = StoppableJob(registry)
    shown = penstock("stop", job.run.entry.id, "--savepoint", "--drain", "--to", str(tmp_path))
    assert shown.exit_code == 0
    assert shown.stdout == f"{tmp_path}/savepoint\n"
    assert job.actions == ["drain"]
    ended = registry.entry(job.run.entry.id)
    assert ended is not None
    assert (ended.status, ended.stopped) == ("finished", "drain")


def test_lost_jobs_and_batch_jobs_are_errors(registry: Registry) -> None:
    registry.write(entry("lost22", "orders", process=DEAD_PROCESS, status="running"))
    assert "JOB_LOST" in penstock("savepoint", "lost22").stderr
    running(registry, batch=True)
    assert "JOB_IN_BATCH_MODE" in penstock("savepoint", "1" * 32).stderr


def test_a_job_that_ends_during_the_savepoint_is_an_error(registry: Registry) -> None:
    class Ends(FakeJob):
        def request_savepoint(self, request: object, on_progress: object) -> None:
            run.entry.status = "finished"
            registry.write(run.entry)

    run = Run(registry, entry("abc"), [], Configuration())
    run.begin(Ends())
    assert "SAVEPOINT_JOB_ENDED" in penstock("savepoint", "abc").stderr
    run.end("finished")


def test_lists_savepoints_of_a_folder_or_of_jobs(registry: Registry, tmp_path: Path) -> None:
    one, two = save(tmp_path / "saved", "one", 2), save(tmp_path / "saved", "two", 1)
    assert penstock("savepoints", "list").stdout == "No savepoints.\n"
    registry.write(entry("abc"))
    write_savepoint_progress(registry, "abc", SavepointProgress("1", "done", two.path))
    write_savepoint_progress(registry, "abc", SavepointProgress("2", "done", str(tmp_path / "gone")))
    assert [json.loads(line)["path"] for line in penstock("savepoints", "list", "--json").stdout.splitlines()] == [
        two.path
    ]
    running(registry, from_savepoint=one.path)
    shown = penstock("savepoints", "list", str(tmp_path / "saved"), width=400).stdout
    assert f"{one.path} (in use)" in shown
    assert f"{two.path} (in use)" not in shown


def test_show_verify_and_delete(registry: Registry, tmp_path: Path) -> None:
    savepoint = save(tmp_path, "one", 0)
    state = SavedState("count", "value", "int", ttl=60_000, entries=1234, size=5_000)
    savepoint.manifest.operators = [SavedOperator("counted", "Counted", "process", True, 2, [state])]
    savepoint.manifest.sources = [SavedSource("numbers", "numbers", "DataGeneratorSource", 0, {"n": 42})]
    publish(savepoint.path, savepoint.manifest)
    shown = penstock("savepoints", "show", savepoint.path).stdout
    for text in ("counted", "1,234", "5.0 KB", "1 min", '{"n": 42}', "batch 7"):
        assert text in shown
    assert json.loads(penstock("savepoints", "show", savepoint.path, "--json").stdout)["batch"] == 7
    assert "is intact: 1 entries" in penstock("savepoints", "verify", savepoint.path).stdout
    file = tmp_path / "one" / "1-0"
    data = bytearray(file.read_bytes())
    data[12] ^= 1
    file.write_bytes(data)
    damaged = penstock("savepoints", "verify", savepoint.path)
    assert damaged.exit_code == 1
    assert "SAVEPOINT_DAMAGED" in damaged.stderr
    assert penstock("savepoints", "delete", savepoint.path).exit_code == 0
    assert "NO_SAVEPOINT" in penstock("savepoints", "show", savepoint.path).stderr


def test_shows_a_savepoint_with_clocks_as_json(registry: Registry, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    env.from_source(PushSource(["s"])).uid("numbers").key_by(lambda n: n).reduce(lambda a, b: a + b).uid("sums")
    harness = Harness(env)
    harness.push(1)
    path = harness.savepoint(tmp_path / "saved" / "one")
    shown = json.loads(penstock("savepoints", "show", path, "--json").stdout)
    (listed,) = penstock("savepoints", "list", str(tmp_path / "saved"), "--json").stdout.splitlines()
    assert shown == json.loads(listed)
    assert shown["levels"][0]["clocks"]


def test_prune(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = save(tmp_path, "one", 2), save(tmp_path, "two", 1)
    assert "NOTHING_TO_PRUNE" in penstock("savepoints", "prune", str(tmp_path)).stderr
    dry = penstock("savepoints", "prune", str(tmp_path), "--keep", "1", "--dry-run")
    assert dry.stdout == f"{one.path} would be removed: there are 1 newer ones\n"
    open_savepoint(one.path)
    monkeypatch.setenv(
        "PENSTOCK_OPTIONS",
        json.dumps(
            {
                "execution.checkpointing.savepoint-dir": str(tmp_path),
                "execution.checkpointing.savepoint-retention.age": "90 min",
            }
        ),
    )
    assert penstock("savepoints", "prune").stdout == f"{one.path} was removed: it is too old\n"
    assert not Path(one.path).exists()
    open_savepoint(two.path)
