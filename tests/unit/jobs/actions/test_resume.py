"""The resume action: finds a job and how it was started, with a program that is not really started."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.jobs.actions import resume
from penstock.jobs.actions.resume import plan_resume, resume_job
from penstock.jobs.actions.start import StartedProgram
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint
from penstock.jobs.registry.launch import Launch, without_secrets
from penstock.jobs.registry.launch_file import StoredLaunch, write_launch
from penstock.jobs.registry.registry import Registry
from tests.unit.jobs.jobs import entry


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "home")


def write_job(registry: Registry, tmp_path: Path, **fields: Any) -> JobEntry:
    """A killed job with its checkpoint."""
    (tmp_path / "job.py").touch()
    checkpoint = tmp_path / "checkpoints" / fields.get("id", "a1b2c3")
    (checkpoint / "penstock").mkdir(parents=True)
    (checkpoint / "penstock" / "job.json").write_text("{}")
    launch = Launch(
        str(tmp_path / "job.py"),
        ["--topic", "t"],
        str(tmp_path),
        {"spark.master": "local[2]"},
        True,
        "/old/python",
        True,
    )
    facts: dict[str, Any] = {"status": "failed", "checkpoint": str(checkpoint), "launch": launch}
    job = entry(fields.pop("id", "a1b2c3"), **(facts | fields))
    registry.write(job)
    if job.launch is not None:
        write_launch(str(checkpoint), StoredLaunch(job.id, job.name, job.launch))
    return job


def test_the_recorded_launch_is_used(registry: Registry, tmp_path: Path) -> None:
    job = write_job(registry, tmp_path)
    assert job.launch is not None
    for name in ("a1b2c3", "a1b", "ads", job.checkpoint):
        plan = plan_resume(registry, name)
        assert (plan.job_id, plan.name, plan.checkpoint) == ("a1b2c3", "ads", job.checkpoint)
        launch = plan.launch
        assert (launch.script, launch.args, launch.folder) == (job.launch.script, ["--topic", "t"], str(tmp_path))
        assert (launch.pyflink, launch.detached) == (True, True)
        assert launch.options == {"spark.master": "local[2]", "execution.resume": job.checkpoint}


def test_what_is_given_overrides_what_is_recorded(registry: Registry, tmp_path: Path) -> None:
    job = write_job(registry, tmp_path)
    options = {"spark.master": "local[3]", "source.batch.records": "7", "execution.resume": "/other"}
    launch = plan_resume(registry, "ads", options=options, args=[], detached=False).launch
    assert (launch.args, launch.detached) == ([], False)
    assert launch.options == {
        "spark.master": "local[3]",
        "source.batch.records": "7",
        "execution.resume": job.checkpoint,
    }


def test_a_folder_is_enough(registry: Registry, tmp_path: Path) -> None:
    """The registry is gone, or the folder was mounted on another machine, where the working folder does not exist."""
    job = write_job(registry, tmp_path)
    assert job.launch is not None
    moved = LatestCheckpoint(str(tmp_path / "moved" / "ads"))
    shutil.copytree(job.checkpoint, moved.folder / "a1b2c3")
    moved.replace(str(moved.folder / "a1b2c3"))
    shutil.rmtree(registry.folder)
    for folder in (moved.folder, moved.folder / "a1b2c3"):
        plan = plan_resume(registry, str(folder))
        assert (plan.job_id, plan.checkpoint) == ("a1b2c3", str(moved.folder / "a1b2c3"))
        assert plan.launch.args == job.launch.args


def refusal(registry: Registry, job: str) -> PenstockError:
    with pytest.raises(PenstockError) as refused:
        plan_resume(registry, job)
    return refused.value


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"status": "running"}, "JOB_RUNNING", "is still running: process"),
        ({"checkpoint": "", "batch": True}, "JOB_IN_BATCH_MODE", "ran in batch mode"),
        ({"checkpoint": "/gone"}, "NO_CHECKPOINT", "/gone does not exist on this machine"),
        ({"launch": None}, "JOB_NOT_RESTARTABLE", "Run the program with the option execution.resume=/"),
        ({"launch": Launch("/gone.py", [], "")}, "JOB_NOT_RESTARTABLE", "penstock run JOB.PY --resume /"),
        (
            {"launch": Launch("/", [], "", {"execution.fork.plan": "/p"})},
            "JOB_NOT_RESTARTABLE",
            "a run of penstock fork",
        ),
        (
            {"launch": without_secrets(Launch("/", ["--password", "sesame"], ""))},
            "RESUME_SECRETS",
            "run: penstock resume ads -- --password '***'",
        ),
    ],
)
def test_a_job_that_cannot_be_resumed(
    registry: Registry, tmp_path: Path, fields: dict[str, Any], code: str, message: str
) -> None:
    write_job(registry, tmp_path, **fields)
    error = refusal(registry, "ads")
    assert error.code == code
    assert message in error.text


def test_a_folder_without_a_checkpoint(registry: Registry, tmp_path: Path) -> None:
    assert refusal(registry, str(tmp_path)).code == "NO_CHECKPOINT"
    assert refusal(registry, str(tmp_path / "missing")).code == "JOB_UNKNOWN"


def test_in_the_background(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = write_job(registry, tmp_path)
    launches: list[Launch] = []

    def start_program(registry: Registry, launch: Launch) -> StartedProgram:
        launches.append(launch)
        return StartedProgram([], 7, "/log", None, None)

    monkeypatch.setattr(resume, "start_program", start_program)
    assert resume_job(registry, "ads", args=["x"]).pid == 7
    assert (launches[0].args, launches[0].options["execution.resume"]) == (["x"], job.checkpoint)
