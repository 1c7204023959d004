"""A job in a Spark of its own, on a checkpoint store that can be made to fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.jobs.entry import JobEntry
from penstock.jobs.registry import Registry
from tests.faults.filesystem.failing import FailingStore
from tests.faults.job import KEYS, expected
from tests.spark.processes import JobProcess, checkpoint_in, lines_of

_JOB = Path(__file__).parent / "job.py"
EVENTS = 40_000
_OPTIONS = {
    "spark.master": "local[2]",
    "spark.jvm-options": "-XX:TieredStopAtLevel=1",
    "source.batch.records": 1000,
    "execution.trigger.interval": "100 ms",
}


class DisturbedJob:
    """The job of tests/faults/job.py, its folders and its store."""

    def __init__(
        self,
        root: Path,
        options: dict[str, Any] | None = None,
        events: int = EVENTS,
        checkpoints: Path | None = None,
        keys: int = KEYS,
        room: int = 0,
    ) -> None:
        self.root = root
        self.events, self.keys, self.room = events, keys, room
        self.checkpoints = checkpoints or root / "checkpoints"
        self.store = FailingStore(root, self.checkpoints)
        self.registry = Registry(root / "home")
        self.lines = root / "lines"
        self._options = {
            **_OPTIONS,
            **self.store.settings,
            "execution.checkpointing.dir": str(self.checkpoints),
            "state.local.dir": str(root / "local"),
            "jobs.registry.dir": str(root / "home"),
            **(options or {}),
        }
        self.process: JobProcess | None = None

    def start(self, resume: bool = False) -> None:
        options = {**self._options, **({"execution.resume": self.checkpoint} if resume else {})}
        told = self.root / "settings.json"
        facts = {"events": self.events, "keys": self.keys, "room": self.room, "lines": str(self.lines)}
        told.write_text(json.dumps({"options": options, **facts}))
        self.process = JobProcess(_JOB, str(told), str(self.root / "logs"))

    @property
    def checkpoint(self) -> str:
        return checkpoint_in(self.checkpoints)

    def batches(self) -> int:
        """How many batches Spark has noted as done."""
        names = [f.name for f in self.checkpoints.glob("*/spark/commits/*")]
        return max((int(name) + 1 for name in names if name.isdecimal()), default=0)

    def entry(self) -> JobEntry | None:
        return next(iter(self.registry.entries()), None)

    def wait_until(self, what: Callable[[], Any], seconds: float = 300) -> Any:
        """Until it is so, and what it is; the job must not end before."""
        assert self.process is not None
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert self.process.running() or what(), self.process.text()[-3000:]
            assert time.monotonic() < deadline, f"{self.entry()}\n{self.process.text()[-3000:]}"
            time.sleep(0.05)
        return found

    def wait_for_batches(self, more: int) -> None:
        goal = self.batches() + more
        self.wait_until(lambda: self.batches() >= goal)

    def ends_right(self, seconds: float = 300) -> None:
        """Waits for the end: every line must be there, once."""
        assert self.process is not None
        assert self.process.process.wait(seconds) == 0, self.process.text()[-3000:]
        assert lines_of(self.lines) == expected(self.events, self.keys)

    def has_all_lines(self) -> None:
        """No line is missing; some may be there twice."""
        assert sorted(set(lines_of(self.lines))) == expected(self.events, self.keys)

    def reports(self) -> list[dict[str, Any]]:
        """Of the batches of the last run, once it has ended."""
        assert self.process is not None
        line = next(line for line in self.process.text().splitlines() if line.startswith("BATCHES "))
        found: list[dict[str, Any]] = json.loads(line.removeprefix("BATCHES "))
        return found

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill_driver()
