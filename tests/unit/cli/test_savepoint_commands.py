"""`penstock savepoint`, `stop --savepoint`, and `savepoints list`, `show`, `verify`, `delete`, `prune`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock import StreamExecutionEnvironment
from penstock.config import Configuration
from penstock.jobs.registry import Registry
from penstock.jobs.run import Run
from penstock.jobs.savepoints import SavepointAnswer, answers, tell_answer
from penstock.savepoints import SavedOperator, SavedSource, SavedState, open_savepoint, publish
from penstock.testing import Harness, PushSource
from tests.cli.test_jobs_commands import EndsWhenAsked, penstock
from tests.jobs_registry.jobs import NOBODY, FakeJob, entry
from tests.savepoints.test_catalogue import running, save


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return Registry(tmp_path / "home")


def test_a_savepoint_of_a_running_job(registry: Registry, tmp_path: Path) -> None:
    run = Run(registry, entry("abc"), [], Configuration())
    run.begin(FakeJob())
    told = penstock("savepoint", "abc", "--to", str(tmp_path))
    assert told.exit_code == 0
    assert told.stdout == f"{tmp_path}/savepoint\n"
    assert "batch 7" in told.stderr
    assert "3.5 MB in 2 files" in told.stderr
    assert f"--from-savepoint {tmp_path}/savepoint" in told.stderr
    found = json.loads(penstock("savepoint", "abc", "--to", str(tmp_path), "--json").stdout)
    assert (found["status"], found["written"]) == ("done", 2)
    failed = penstock("savepoint", "abc", "--to", str(tmp_path / "fails"))
    assert failed.exit_code == 1
    assert failed.stderr == "penstock: [SAVEPOINT_UNWRITABLE] It cannot be written.\n"
    assert [a.status for a in answers(registry, "abc")] == ["done", "done", "failed"]
    run.end("finished")
    assert "JOB_OVER" in penstock("savepoint", "abc").stderr


def test_a_job_ends_with_a_savepoint(registry: Registry, tmp_path: Path) -> None:
    job = EndsWhenAsked(registry)
    told = penstock("stop", job.run.entry.id, "--savepoint", "--drain", "--to", str(tmp_path))
    assert told.exit_code == 0
    assert told.stdout == f"{tmp_path}/savepoint\n"
    assert job.asked == ["drain"]
    ended = registry.entry(job.run.entry.id)
    assert ended is not None
    assert (ended.status, ended.stopped) == ("finished", "drain")


def test_who_has_no_process_or_runs_in_batch_mode_is_told(registry: Registry) -> None:
    registry.write(entry("lost22", "orders", process=NOBODY, status="running"))
    assert "JOB_LOST" in penstock("savepoint", "lost22").stderr
    running(registry, batch=True)
    assert "JOB_IN_BATCH_MODE" in penstock("savepoint", "1" * 32).stderr


def test_a_job_that_ends_meanwhile_is_told(registry: Registry) -> None:
    class Ends(FakeJob):
        def save(self, request: object, tell: object) -> None:
            run.entry.status = "finished"
            registry.write(run.entry)

    run = Run(registry, entry("abc"), [], Configuration())
    run.begin(Ends())
    assert "SAVEPOINT_JOB_ENDED" in penstock("savepoint", "abc").stderr
    run.end("finished")


def test_savepoints_are_listed_by_folder_or_by_what_jobs_took(registry: Registry, tmp_path: Path) -> None:
    one, two = save(tmp_path / "saved", "one", 2), save(tmp_path / "saved", "two", 1)
    assert penstock("savepoints", "list").stdout == "No savepoints.\n"
    registry.write(entry("abc"))
    tell_answer(registry, "abc", SavepointAnswer("1", "done", two.path))
    tell_answer(registry, "abc", SavepointAnswer("2", "done", str(tmp_path / "gone")))
    assert [json.loads(line)["path"] for line in penstock("savepoints", "list", "--json").stdout.splitlines()] == [
        two.path
    ]
    running(registry, from_savepoint=one.path)
    shown = penstock("savepoints", "list", str(tmp_path / "saved"), width=400).stdout
    assert f"{one.path} (in use)" in shown
    assert f"{two.path} (in use)" not in shown


def test_a_savepoint_is_shown_verified_and_deleted(registry: Registry, tmp_path: Path) -> None:
    savepoint = save(tmp_path, "one", 0)
    state = SavedState("count", "value", "int", ttl=60_000, entries=1234, size=5_000)
    savepoint.manifest.operators = [SavedOperator("counted", "Counted", "process", True, 2, [state])]
    savepoint.manifest.sources = [SavedSource("numbers", "numbers", "DataGeneratorSource", 0, {"n": 42})]
    publish(savepoint.path, savepoint.manifest)
    shown = penstock("savepoints", "show", savepoint.path).stdout
    for text in ("counted", "1,234", "5.0 KB", "1 min", '{"n": 42}', "batch 7"):
        assert text in shown
    assert json.loads(penstock("savepoints", "show", savepoint.path, "--json").stdout)["batch"] == 7
    assert "is whole: 1 entries" in penstock("savepoints", "verify", savepoint.path).stdout
    file = tmp_path / "one" / "1-0"
    data = bytearray(file.read_bytes())
    data[12] ^= 1
    file.write_bytes(data)
    damaged = penstock("savepoints", "verify", savepoint.path)
    assert damaged.exit_code == 1
    assert "SAVEPOINT_DAMAGED" in damaged.stderr
    assert penstock("savepoints", "delete", savepoint.path).exit_code == 0
    assert "NO_SAVEPOINT" in penstock("savepoints", "show", savepoint.path).stderr


def test_a_savepoint_with_clocks_is_shown_as_json(registry: Registry, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    env.from_source(PushSource(["s"])).uid("numbers").key_by(lambda n: n).reduce(lambda a, b: a + b).uid("sums")
    harness = Harness(env)
    harness.push(1)
    path = harness.savepoint(tmp_path / "saved" / "one")
    shown = json.loads(penstock("savepoints", "show", path, "--json").stdout)
    (listed,) = penstock("savepoints", "list", str(tmp_path / "saved"), "--json").stdout.splitlines()
    assert shown == json.loads(listed)
    assert shown["levels"][0]["clocks"]


def test_savepoints_are_pruned(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
