"""Jobs as processes of their own: started, killed hard, resumed."""

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

_ROOT = str(Path(__file__).parents[2])  # jobs, and their workers, import from `tests`


class JobProcess:
    """A job's program in a session of its own, so that all its processes can be found."""

    def __init__(self, script: Path, *arguments: str) -> None:
        self.log = Path(arguments[1]) / f"log-{time.monotonic_ns()}"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(script), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))},
                start_new_session=True,
            )

    def members(self) -> list[tuple[int, str]]:
        """All living processes of the job: (id, command line)."""
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
        """kill -9 for the program and its JVM."""
        for pid, _ in self.members():
            _kill(pid)
        self.process.wait()

    def kill_worker(self, rng: random.Random) -> bool:
        """kill -9 for one Python worker; False when there is none."""
        workers = [pid for pid, command in self.members() if "daemon pyspark.worker" in command]
        if len(workers) < 2:
            return False
        _kill(rng.choice(workers[1:]))
        return True

    def kill_jvm(self) -> bool:
        """kill -9 for the JVM alone: the program fails, and Python workers live on for a moment; False when there is none."""
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
    """The one checkpoint that a job made under a folder."""
    found = [p.parent.parent for p in root.glob("*/penstock/job.json")]
    assert len(found) == 1, found
    return str(found[0])


def lines_of(folder: Path) -> list[str]:
    """All lines that a JSON-lines sink has made visible, sorted."""
    return sorted(line for file in folder.glob("part-*.jsonl") for line in file.read_text().splitlines())


def batches_of(folder: Path) -> int:
    """How many batches have made files visible."""
    return len({re.match(r"part-(\d+)", f.name).group(1) for f in folder.glob("part-*.jsonl")})  # type: ignore[union-attr]
