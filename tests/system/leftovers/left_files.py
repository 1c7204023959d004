"""The files that a finished job, a running job and, after `kill`, a killed job leave in the folders of a user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from tests.locations import ROOT
from tests.system.spark.processes import JobProcess
from tests.waiting import until

JOB = Path(__file__).parent / "job.py"
_FILES = 8  # of the input; each is read in several batches


class LeftFiles:
    """A home, a cache and a job that runs on, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.cache = folder / "home", folder / "cache"
        self.input, self.output = folder / "input", folder / "output"
        self.input.mkdir(parents=True)
        for number in range(_FILES):
            lines = (json.dumps({"n": number * 100 + n}) for n in range(100))
            (self.input / f"{number}.json").write_text("\n".join(lines) + "\n")
        self.registry = Registry(self.home)
        self._process: JobProcess | None = None

    def environment(self) -> dict[str, str]:
        """The variables of processes that use the folders."""
        variables = {"PENSTOCK_HOME": str(self.home), "PENSTOCK_CACHE": str(self.cache), "TMPDIR": str(self.folder)}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        return {**os.environ, **variables, "PYTHONPATH": path}

    def start(self) -> None:
        """Starts both jobs and waits until one has ended and the other one has a savepoint."""
        self._process = JobProcess(JOB, str(self.input), str(self.output), environment=self.environment())
        process = self._process
        until(lambda: "SAVEPOINT" in process.text() or not process.running(), seconds=600)
        assert process.running(), process.text()[-3000:]
        until(lambda: len(self.jobs()) == 2 and self._batches() > 10, seconds=600)

    def jobs(self) -> list[JobEntry]:
        return self.registry.entries()

    @property
    def killed_job(self) -> JobEntry:
        return self.registry.find("runs on")

    def _batches(self) -> int:
        progress = self.registry.progress(self.killed_job.id)
        return 0 if progress is None else progress.batches

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill_driver()

    def copy(self, folder: Path) -> LeftFiles:
        """The same files in another folder. The paths inside files still name the first folder."""
        copied = LeftFiles(folder)
        for source, target in ((self.home, copied.home), (self.cache, copied.cache), (self.output, copied.output)):
            if source.exists():
                shutil.copytree(
                    source,
                    target,
                    symlinks=True,
                    ignore=_not_regular,
                    dirs_exist_ok=True,
                    copy_function=_copy_if_exists,
                )
        return copied

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the program of the jobs to its end."""
        command = [sys.executable, str(JOB), *arguments]
        return subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=400, check=False, cwd=self.folder
        )


def _copy_if_exists(source: str, target: str) -> None:
    with suppress(FileNotFoundError):  # removed by the running job
        shutil.copy2(source, target)


def _not_regular(folder: str, names: list[str]) -> list[str]:
    """The names of sockets."""
    paths = {name: Path(folder, name) for name in names}
    return [name for name, path in paths.items() if not (path.is_dir() or path.is_file() or path.is_symlink())]
