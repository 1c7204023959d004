"""Removes what a test run leaves behind: its folder, and processes that outlived their tests.

Every run has one folder below the temporary folder of the machine. All temporary files of the run are inside it, and all processes
of the run inherit an environment variable that names it. A run that was killed cannot clean up; the next run does it.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

VARIABLE = "PENSTOCK_TEST_RUN"  # path of the run's folder
_PREFIX = "penstock-tests-"


class TestRun:
    """The folder and the processes of one test run. Only the process that started the run cleans up."""

    __test__ = False

    def __init__(self) -> None:
        self.folder = Path(os.environ.get(VARIABLE, ""))
        self._owner = VARIABLE not in os.environ
        if self._owner:
            remove_abandoned_runs()
            self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
            os.environ[VARIABLE] = str(self.folder)
            os.environ["TMPDIR"] = str(self.folder)
            tempfile.tempdir = None  # read TMPDIR again
        os.environ["PENSTOCK_HOME"] = tempfile.mkdtemp(prefix="home-", dir=self.folder)

    def finish(self) -> None:
        if self._owner:
            end_processes(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)


def remove_abandoned_runs() -> None:
    """Removes folders and processes of runs whose process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            end_processes(folder)
            shutil.rmtree(folder, ignore_errors=True)


def end_processes(folder: Path) -> None:
    """Ends all other processes of the run with this folder."""
    processes = list(_processes(folder))
    for process in processes:
        _signal(process, signal.SIGTERM)
    _, alive = psutil.wait_procs(processes, timeout=5)
    for process in alive:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=5)


def _processes(folder: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == str(folder):
                yield process
        except psutil.Error:  # ended meanwhile, or belongs to another user
            continue


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.Error):
        process.send_signal(number)
