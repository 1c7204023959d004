"""A job with `execution.resume: latest` has one checkpoint for its name, which the first start creates and later ones resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.engine.program.builder import build_program
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.checkpoint import Checkpoint, open_checkpoint
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.launch_file import StoredLaunch, write_launch
from penstock.jobs.run.resumption import keep_parallelism
from penstock.plan.graph import JobGraph
from penstock.spark.job.restore_plan import plan_spark_restore
from penstock.spark.job.resumption import has_ended
from tests.unit.spark.checkpoint.checkpoints import write_with_checksums


def graph(name: str = "fraud", uid: str = "total", parallelism: int | None = 2) -> JobGraph:
    env = ps.StreamExecutionEnvironment()
    if parallelism is not None:
        env.set_parallelism(parallelism)
    env.from_collection([("a", 1)]).key_by(lambda v: v[0]).reduce(max).uid(uid).set_parallelism(2).print()
    return env.graph(name)


def program(**changes: Any) -> Program:
    return build_program(graph(**changes))


def options(folder: Path, **values: Any) -> ps.Configuration:
    given = {k.replace("_", "."): v for k, v in values.items()}
    return ps.Configuration({"execution.checkpointing.dir": str(folder), "execution.resume": "latest", **given})


def test_the_first_start_creates_and_later_starts_resume(tmp_path: Path) -> None:
    first = open_checkpoint(program(), options(tmp_path))
    assert (first.resumed, Path(first.folder)) == (False, tmp_path / "fraud" / first.job_id)
    second = open_checkpoint(program(), options(tmp_path))
    assert (second.resumed, second.folder, second.job_id) == (True, first.folder, first.job_id)
    assert open_checkpoint(program(name="other"), options(tmp_path)).folder != first.folder


def test_a_new_job_of_the_same_launch_has_its_checkpoint_in_the_same_place(tmp_path: Path) -> None:
    """Also if the launch only resumed a folder, as `rescale` needs it."""
    named = open_checkpoint(program(), options(tmp_path))
    settings = {"execution.checkpointing.dir": str(tmp_path), "execution.resume": "latest"}
    assert named.settings == settings
    assert open_checkpoint(program(), ps.Configuration({"execution.resume": named.folder})).settings == settings
    plain = open_checkpoint(program(), ps.Configuration({"execution.checkpointing.dir": str(tmp_path)}))
    assert plain.settings == {"execution.checkpointing.dir": str(tmp_path)}


def test_two_at_once_are_refused_by_the_lock(tmp_path: Path) -> None:
    first, second = (open_checkpoint(program(), options(tmp_path)) for _ in range(2))
    first.lock.acquire()
    with pytest.raises(CheckpointError, match="CHECKPOINT_IN_USE"):
        second.lock.acquire()
    with pytest.raises(CheckpointError, match="CHECKPOINT_IN_USE"):
        open_checkpoint(program(), options(tmp_path), FromSavepoint("/savepoints/a"))
    first.lock.release()


def test_another_program_of_the_same_name_is_refused(tmp_path: Path) -> None:
    open_checkpoint(program(), options(tmp_path))
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_OF_ANOTHER_JOB.*start this one with another --name"):
        open_checkpoint(program(uid="sum"), options(tmp_path))


def test_a_job_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"RESUME_NAME.*--name"):
        open_checkpoint(program(name=""), options(tmp_path))


class FromSavepoint:
    """The start from a savepoint, without its contents."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write_to(self, checkpoint: Checkpoint) -> None:
        pass


def test_a_savepoint_is_used_once(tmp_path: Path) -> None:
    """As after `rescale`. A start command that names a savepoint does not return to it later."""
    first = open_checkpoint(program(), options(tmp_path))
    second = open_checkpoint(program(), options(tmp_path), FromSavepoint("/savepoints/a"))
    assert (second.resumed, second.from_savepoint) == (False, "/savepoints/a")
    assert Path(second.folder).parent == Path(first.folder).parent
    again = options(tmp_path, **{"execution.state-recovery.path": "/savepoints/a"})
    assert plan_spark_restore(program(), again) is None
    assert open_checkpoint(program(), again).folder == second.folder


def test_the_parallelism_is_kept_unless_it_is_set(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(program(parallelism=5), options(tmp_path))
    resume = ps.Configuration({"execution.resume": checkpoint.folder})
    here = graph(parallelism=3)  # what another machine has as its default
    for configuration in (options(tmp_path), resume):
        assert keep_parallelism(here, configuration).parallelism == 5
    assert keep_parallelism(here, options(tmp_path, parallelism_default=3)).parallelism == 3
    assert keep_parallelism(here, ps.Configuration()).parallelism == 3
    own = open_checkpoint(program(name="own", parallelism=1), options(tmp_path))  # an operator has parallelism 2
    resume_own = ps.Configuration({"execution.resume": own.folder})
    assert keep_parallelism(graph(name="own", parallelism=1), resume_own).parallelism == 1
    assert keep_parallelism(here, ps.Configuration({"execution.resume": str(tmp_path)})).parallelism == 3


def test_a_job_that_was_rescaled_stays_so(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(build_program(graph().rescaled(1)), options(tmp_path))
    launch = Launch("job.py", [], "", {"execution.rescale.parallelism": "1"})
    write_launch(checkpoint.folder, StoredLaunch(checkpoint.job_id, "fraud", launch))
    kept = keep_parallelism(graph(parallelism=2), options(tmp_path, parallelism_default=2))
    assert (kept.parallelism, {n.parallelism for n in kept.operators}) == (1, {1})


@pytest.mark.parametrize(("control", "ended"), [('{"n": 3, "end": true}', True), ('{"n": 3}', False), ("-", False)])
def test_whether_the_input_has_ended(tmp_path: Path, control: str, ended: bool) -> None:
    checkpoint = open_checkpoint(program(), options(tmp_path))
    assert not has_ended(checkpoint)
    checkpoint = open_checkpoint(program(), options(tmp_path))
    assert not has_ended(checkpoint)
    write_with_checksums(Path(checkpoint.spark, "commits", "4"), b"v1\n{}")
    write_with_checksums(Path(checkpoint.spark, "offsets", "4"), f"v1\n{{}}\n{control}\n{{}}".encode())
    assert has_ended(checkpoint) is ended
