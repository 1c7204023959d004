"""A program with several jobs: each continues from its own checkpoint when one of them is resumed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.config import OPTIONS_VARIABLE
from penstock.connectors import JsonLinesSink
from penstock.errors import JobError, UserFunctionError
from penstock.jobs.actions.rescale import rescale_job
from penstock.jobs.actions.resume import plan_resume
from penstock.jobs.registry import program_jobs
from penstock.jobs.registry.registry import Registry

OPTIONS = {"execution.engine": "local", "source.batch.records": 10, "restart-strategy.type": "none"}


class Program:
    """A program that runs three jobs. The second one fails at element 25 until `repaired`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.registry = Registry(folder / "home")
        self.repaired = False
        self.collected: list[int] = []
        self._folder = folder
        self._monkeypatch = monkeypatch
        (folder / "job.py").touch()
        monkeypatch.setattr(sys, "argv", [str(folder / "job.py")])
        monkeypatch.setenv("PENSTOCK_HOME", str(folder / "home"))

    def run(self, options: dict[str, Any] | None = None) -> None:
        """Runs the program as a new process would."""
        started = type("_Started", (), {"count": 0, "first": ""})
        self._monkeypatch.setattr(program_jobs, "_Started", started)
        self._monkeypatch.setenv(OPTIONS_VARIABLE, json.dumps(OPTIONS if options is None else options))
        self._job("one", lambda n: n)
        self._job("two", self._fails)
        numbers = ps.StreamExecutionEnvironment.get_execution_environment().from_sequence(0, 4)
        self.collected = list(numbers.execute_and_collect("numbers"))
        self._job("three", self._fails)

    def _job(self, name: str, function: Any) -> None:
        env = ps.StreamExecutionEnvironment.get_execution_environment()  # all jobs have the same operators
        env.from_sequence(0, 49).map(function).uid("map").sink_to(JsonLinesSink(self._folder / name)).uid("sink")
        env.execute(name)

    def _fails(self, number: int) -> int:
        if number == 25 and not self.repaired:
            raise ValueError(number)
        return number

    def resume(self, job: str) -> None:
        self.run(plan_resume(self.registry, job).launch.options)

    def written(self, name: str) -> list[int]:
        files = (self._folder / name).glob("part-*")
        return sorted(int(line) for file in files for line in file.read_text().splitlines())


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program whose second job has failed."""
    program = Program(tmp_path, monkeypatch)
    with pytest.raises(UserFunctionError):
        program.run()
    assert (program.written("one"), program.written("two")) == (list(range(50)), list(range(20)))
    return program


def test_the_second_job_is_resumed_and_the_first_one_is_not_repeated(program: Program) -> None:
    program.repaired = True
    program.resume("two")
    for name in ("one", "two", "three"):
        assert program.written(name) == list(range(50)), name
    assert program.collected == [0, 1, 2, 3, 4]


def test_jobs_stay_together_over_several_runs(program: Program) -> None:
    with pytest.raises(UserFunctionError):
        program.resume("two")  # fails again
    program.repaired = True
    program.resume("one")  # it has finished, and the program continues
    assert [program.written(name) for name in ("one", "two", "three")] == [list(range(50))] * 3
    program.resume("three")
    assert [program.written(name) for name in ("one", "two", "three")] == [list(range(50))] * 3
    assert program.collected == [0, 1, 2, 3, 4], "the program needs the results again"


def test_a_folder_is_enough(program: Program) -> None:
    checkpoint = program.registry.find("two").checkpoint
    shutil.rmtree(program.registry.folder / "jobs")
    program.repaired = True
    program.resume(checkpoint)
    assert [program.written(name) for name in ("one", "two", "three")] == [list(range(50))] * 3


def test_an_earlier_job_without_its_checkpoint_is_not_repeated(program: Program) -> None:
    shutil.rmtree(program.registry.find("one").checkpoint)
    with pytest.raises(JobError, match=r"JOB_NOT_RESTARTABLE.*job 2 of its program.*with job 1,"):
        plan_resume(program.registry, "two")


def test_one_of_several_jobs_is_not_rescaled(program: Program) -> None:
    for name in ("one", "two"):
        with pytest.raises(JobError, match=r"JOB_NOT_RESTARTABLE.*several jobs.*Nothing was changed"):
            rescale_job(program.registry, program.registry.find(name), 4)
