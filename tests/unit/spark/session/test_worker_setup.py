"""What workers set up for the functions of a job."""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark import SparkFiles

from penstock.spark.session import worker_setup
from penstock.spark.session.worker_setup import WorkerSetup, program_folders


@pytest.fixture(autouse=True)
def start_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a worker starts. Shipped archives are in the folder `shipped`."""
    monkeypatch.setattr(worker_setup, "_started_in", [])
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path / "shipped"))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    monkeypatch.setenv("python", "before")
    (tmp_path / "shipped").mkdir()
    (tmp_path / "start").mkdir()
    monkeypatch.chdir(tmp_path / "start")
    return tmp_path / "start"


def test_functions_run_in_the_folder_of_archives(start_folder: Path) -> None:
    with_archives, without = WorkerSetup(has_archives=True), WorkerSetup()
    for _ in range(2):
        with_archives.activate()
        assert Path.cwd() == start_folder.parent / "shipped"
        without.activate()  # of another job in the same worker
        assert Path.cwd() == start_folder


def test_the_variable_python_is_the_chosen_interpreter() -> None:
    WorkerSetup().activate()
    assert os.environ["python"] == "before"  # noqa: SIM112
    WorkerSetup(python="/usr/bin/python3").activate()
    assert os.environ["python"] == "/usr/bin/python3"  # noqa: SIM112


def test_folders_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libs").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "libs"))
    monkeypatch.syspath_prepend(str(tmp_path / "missing"))
    folders = program_folders()
    assert str(tmp_path / "libs") in folders
    assert str(tmp_path / "missing") not in folders
    assert os.path.dirname(os.__file__) not in folders


def test_a_changed_module_replaces_that_of_an_earlier_job(start_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(worker_setup, "_of_other_jobs", {})
    seen, modules = [], []
    for name in ("first", "second", "first"):
        with zipfile.ZipFile(start_folder.parent / "shipped" / f"{name}.zip", "w") as packed:
            packed.writestr("module_of_two_jobs.py", f"NAME = {name!r}")
        sys.path.insert(1, str(start_folder.parent / "shipped" / f"{name}.zip"))  # Spark does so before
        for _ in range(2):
            WorkerSetup((f"{name}.zip",)).prepare_imports()
            seen.append(importlib.import_module("module_of_two_jobs").NAME)
        modules.append(sys.modules["module_of_two_jobs"])
    monkeypatch.delitem(sys.modules, "module_of_two_jobs")
    assert seen == ["first", "first", "second", "second", "first", "first"]
    assert modules[0] is modules[2]  # so that the classes of the first job stay the same
