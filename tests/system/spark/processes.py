"""Runs jobs in processes of their own, which tests kill and resume."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.locations import ROOT

_ROOT = str(ROOT)  # jobs, and their workers, import from `tests`


class JobProcess:
    """The program of a job in its own process session, so that all its processes can be found."""

    def __init__(self, script: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.log = Path(arguments[1]) / f"log-{time.monotonic_ns()}"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(script), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment
                or {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))},
                start_new_session=True,
            )

    def members(self) -> list[tuple[int, str]]:
        """Returns the id and command line of all running processes of the job."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                stat = (entry / "stat").read_text()
                session = int(stat.rsplit(")", 1)[1].split()[3])
                if session == self.process.pid:
                    found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except (OSError, ValueError):
                continue
        return found

    def kill_driver(self) -> None:
        """Kills the program and its JVM with SIGKILL."""
        for pid, _ in self.members():
            _kill(pid)
        self.process.wait()

    def kill_worker(self, rng: random.Random) -> bool:
        """Kills one Python worker with SIGKILL. Returns False if there is none."""
        workers = [pid for pid, command in self.members() if "daemon pyspark.worker" in command]
        if len(workers) < 2:
            return False
        _kill(rng.choice(workers[1:]))
        return True

    def kill_jvm(self) -> bool:
        """Kills only the JVM. The program fails, and Python workers run on for a moment. Returns False if there is none."""
        machines = [pid for pid, command in self.members() if "org.apache.spark.deploy.SparkSubmit" in command]
        for pid in machines:
            _kill(pid)
        return bool(machines)

    def running(self) -> bool:
        return self.process.poll() is None

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def done(self) -> bool:
        return "DONE" in self.text()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def checkpoint_in(root: Path) -> str:
    """Returns the only checkpoint below a folder."""
    found = [p.parent.parent for p in root.glob("*/penstock/job.json")]
    assert len(found) == 1, found
    return str(found[0])


def lines_of(folder: Path) -> list[str]:
    """Returns all visible lines of a JSON-lines sink, sorted."""
    return sorted(line for file in folder.glob("part-*.jsonl") for line in file.read_text().splitlines())


def batches_of(folder: Path) -> int:
    """Returns how many batches have visible files."""
    return len({re.match(r"part-(\d+)", f.name).group(1) for f in folder.glob("part-*.jsonl")})  # type: ignore[union-attr]
