"""A job in its own process, with a checkpoint store that can be made to fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from tests.system.faults.filesystem.failing import FailingStore
from tests.system.faults.job import KEYS, expected
from tests.system.spark.processes import JobProcess, checkpoint_in, lines_of

_JOB = Path(__file__).parent / "job.py"
EVENTS = 40_000
_OPTIONS = {
    "spark.master": "local[2]",
    "spark.jvm-options": "-XX:TieredStopAtLevel=1",
    "source.batch.records": 1000,
    "execution.trigger.interval": "100 ms",
}


class DisturbedJob:
    """The job of tests/system/faults/job.py with its folders and its checkpoint store."""

    def __init__(
        self,
        root: Path,
        options: dict[str, Any] | None = None,
        events: int = EVENTS,
        checkpoints: Path | None = None,
        keys: int = KEYS,
        state_size: int = 0,
        failing_store: bool = True,
    ) -> None:
        self.root = root
        self.events, self.keys, self.state_size = events, keys, state_size
        self.checkpoints = checkpoints or root / "checkpoints"
        if failing_store:
            self.store = FailingStore(root, self.checkpoints)
        self.registry = Registry(root / "home")
        self.lines = root / "lines"
        self._options = {
            **_OPTIONS,
            **(self.store.settings if failing_store else {}),
            "execution.checkpointing.dir": str(self.checkpoints),
            "state.local.dir": str(root / "local"),
            "jobs.registry.dir": str(root / "home"),
            **(options or {}),
        }
        self.process: JobProcess | None = None

    def start(self, resume: bool = False) -> None:
        options = {**self._options, **({"execution.resume": self.checkpoint} if resume else {})}
        settings_file = self.root / "settings.json"
        settings = {"events": self.events, "keys": self.keys, "state_size": self.state_size, "lines": str(self.lines)}
        settings_file.write_text(json.dumps({"options": options, **settings}))
        self.process = JobProcess(_JOB, str(settings_file), str(self.root / "logs"))

    @property
    def checkpoint(self) -> str:
        return checkpoint_in(self.checkpoints)

    def batches(self) -> int:
        """The number of batches that Spark has committed."""
        names = [f.name for f in self.checkpoints.glob("*/spark/commits/*")]
        return max((int(name) + 1 for name in names if name.isdecimal()), default=0)

    def entry(self) -> JobEntry | None:
        return next(iter(self.registry.entries()), None)

    def wait_until(self, condition: Callable[[], Any], seconds: float = 300) -> Any:
        """Waits until a condition holds and returns its value. The job must not end before."""
        assert self.process is not None
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            assert self.process.running() or condition(), self.process.text()[-3000:]
            assert time.monotonic() < deadline, f"{self.entry()}\n{self.process.text()[-3000:]}"
            time.sleep(0.05)
        return result

    def wait_for_batches(self, more: int, seconds: float = 300) -> None:
        goal = self.batches() + more
        self.wait_until(lambda: self.batches() >= goal, seconds)

    def check_result(self, seconds: float = 300) -> None:
        """Waits until the job has ended, and checks that every line was written exactly once."""
        assert self.process is not None
        assert self.process.process.wait(seconds) == 0, self.process.text()[-3000:]
        assert lines_of(self.lines) == expected(self.events, self.keys)

    def check_no_line_is_missing(self) -> None:
        """Checks that no line is missing. Lines may be duplicated."""
        assert sorted(set(lines_of(self.lines))) == expected(self.events, self.keys)

    def reports(self) -> list[dict[str, Any]]:
        """The batch reports of the last run, after it has ended."""
        assert self.process is not None
        line = next(line for line in self.process.text().splitlines() if line.startswith("BATCHES "))
        result: list[dict[str, Any]] = json.loads(line.removeprefix("BATCHES "))
        return result

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill_driver()
