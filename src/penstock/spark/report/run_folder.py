"""The driver's own folder of a run: how its processes tell each other things.

Spark runs sources, the control source and the sinks' commits in processes of their own on the driver's machine. Each fact is
a small file that is replaced as a whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import msgspec

from penstock.engine.frames import SavedPart
from penstock.engine.logs import LogLine
from penstock.jobs.checkpoints import Checkpoint
from penstock.jobs.whole_file import write_whole
from penstock.metrics import JobMetrics
from penstock.metrics.values import Told
from penstock.spark.pickling import pickle_value
from penstock.spark.reports import Reports


class _Measured(msgspec.Struct):
    """Metrics up to a batch, and before it: a batch that is committed again replaces what it told before."""

    batch: int
    before: JobMetrics
    after: JobMetrics


class AskedSavepoint(msgspec.Struct, frozen=True):
    """A savepoint that a running job is asked for."""

    id: str
    folder: str
    end: str = ""  # "stop" or "drain": its batch is the job's last


class SavedBatch(msgspec.Struct):
    """The batch of a savepoint, as the router saw it: the slots' parts, and what sinks remember after it."""

    id: str
    batch: int
    parts: list[SavedPart]
    sinks: dict[int, Any] = {}


class RunFolder:
    """Facts of one run."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        self.reports = Reports(self.path)

    def create(self, key: str, program: bytes, facts: dict[str, Any]) -> None:
        for name in ("mail", "logs", "checkpoints"):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        self._write("facts", {**facts, "key": key})
        self.put_program(program)

    def put_program(self, program: bytes) -> None:
        (self.path / "program").write_bytes(program)

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self.path / "facts").read_text())
        return facts

    def program(self) -> tuple[str, bytes]:
        return self.facts()["key"], (self.path / "program").read_bytes()

    def put_tasks(self, tasks: list[tuple[int, bytes]]) -> None:
        """What a batch job reads: the source of each task, and the task."""
        (self.path / "tasks").write_bytes(msgspec.msgpack.encode(tasks))

    def tasks(self) -> list[tuple[int, bytes]]:
        return msgspec.msgpack.decode((self.path / "tasks").read_bytes(), type=list[tuple[int, bytes]])

    def lasting(self, uid: str) -> str:
        """A folder of a source that lives as long as the checkpoint."""
        folder = Path(self.facts()["lasting"]) / uid
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def _write(self, name: str, value: Any) -> None:
        write_whole(self.path / name, json.dumps(value).encode())

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_text())
        except OSError:
            return None

    # -- sources to control

    def tell_source(self, number: int, told: dict[str, Any]) -> None:
        self._write(f"source-{number}", told)

    def source(self, number: int) -> dict[str, Any] | None:
        told: dict[str, Any] | None = self._read(f"source-{number}")
        return told

    def tell_lag(self, number: int, lag: int | None) -> None:
        self._write(f"lag-{number}", {"lag": lag})

    def lag(self, number: int) -> int | None:
        """How many records of a source wait to be read, if it knows that."""
        told = self._read(f"lag-{number}")
        return None if told is None else told["lag"]

    # -- sinks to control and to the program

    def tell_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Leaves what the tasks of a committed batch told, for the program."""
        file = self.path / "checkpoints" / f"{checkpoint.id:012d}"
        write_whole(file, msgspec.json.encode(checkpoint), beside=self.path)

    def take_checkpoints(self) -> list[Checkpoint]:
        """The checkpoints not read yet, in order."""
        found = []
        for file in sorted((self.path / "checkpoints").iterdir()):
            found.append(msgspec.json.decode(file.read_bytes(), type=Checkpoint))
            file.unlink()
        return found

    def tell_report(self, report: dict[str, Any]) -> None:
        self.reports.add(report)
        self._write("report", report)

    def report(self) -> dict[str, Any] | None:
        report: dict[str, Any] | None = self._read("report")
        return report

    # -- what user functions measure and log

    def add_metrics(self, batch: int, told: list[tuple[int, Told]]) -> None:
        """Adds a committed batch's metrics, by subtask, to the totals of the run."""
        known = self._measured()
        if known is None and not any(metrics for _, metrics in told):
            return
        before = JobMetrics() if known is None else known.before if known.batch == batch else known.after
        after = msgspec.convert(msgspec.to_builtins(before), JobMetrics, strict=False)
        after.add(told)
        write_whole(self.path / "metrics", msgspec.json.encode(_Measured(batch, before, after)))

    def _measured(self) -> _Measured | None:
        try:
            return msgspec.json.decode((self.path / "metrics").read_bytes(), type=_Measured)
        except OSError:
            return None

    def metrics(self) -> JobMetrics:
        """The metrics of all batches of this run."""
        known = self._measured()
        return JobMetrics() if known is None else known.after

    def takes_logs(self) -> bool:
        """Whether this process can leave log lines here: an executor on another machine cannot."""
        return (self.path / "logs").is_dir()

    def tell_logs(self, lines: list[LogLine]) -> None:
        """Leaves log lines for the program."""
        if lines:
            name = f"{time.time_ns():020d}-{os.getpid()}"
            write_whole(self.path / "logs" / name, msgspec.json.encode(lines), beside=self.path)

    def take_logs(self) -> list[LogLine]:
        """Log lines not read yet."""
        lines: list[LogLine] = []
        for file in sorted((self.path / "logs").iterdir()):
            lines += msgspec.json.decode(file.read_bytes(), type=list[LogLine])
            file.unlink()
        return lines

    def post(self, batch: int, letters: dict[int, list[Any]]) -> None:
        """What sinks have for the program, once per batch."""
        if any(letters.values()):
            write_whole(self.path / "mail" / f"{batch:012d}", pickle_value(letters), beside=self.path)

    def mail(self) -> list[tuple[int, dict[int, list[Any]]]]:
        """Letters not read yet, in order of their batches."""
        found = []
        for file in sorted((self.path / "mail").iterdir()):
            found.append((int(file.name), pickle.loads(file.read_bytes())))
            file.unlink()
        return found

    # -- control to the supervisor, and back

    def tell_finished(self, batch: int) -> None:
        self._write("finished", {"offset": batch})

    def finished(self) -> bool:
        return (self.path / "finished").exists()

    def ask_stop(self, drain: bool) -> None:
        self._write("stop", {"drain": drain})

    def tell_limit(self, records: int) -> None:
        self._write("limit", {"records": records})

    def limit(self) -> int | None:
        """The most records of a source in a batch, when that was changed while the job runs."""
        told = self._read("limit")
        return None if told is None else int(told["records"])

    def tell_pause(self, seconds: float) -> None:
        self._write("pause", {"seconds": seconds})

    def resting(self) -> bool:
        """Whether the pause after the last batch is not over."""
        told, report = self._read("pause"), self.report()
        return told is not None and report is not None and time.time() < report["ended"] + float(told["seconds"])

    def stop_asked(self) -> dict[str, Any] | None:
        asked: dict[str, Any] | None = self._read("stop")
        return asked

    # -- savepoints: asked for by the program, told to the slots by the control source, answered by the router

    def ask_savepoint(self, asked: AskedSavepoint) -> None:
        write_whole(self.path / "savepoint", msgspec.json.encode(asked))

    def savepoint_asked(self) -> AskedSavepoint | None:
        """The savepoint that is being taken."""
        try:
            return msgspec.json.decode((self.path / "savepoint").read_bytes(), type=AskedSavepoint)
        except OSError:
            return None

    def forget_savepoint(self) -> None:
        """The savepoint was taken, or cannot be."""
        for file in (self.path / "savepoint", *self.path.glob("saved-*"), *self.path.glob("position-*")):
            file.unlink(missing_ok=True)

    def tell_position(self, number: int, offset: Any, position: Any) -> None:
        """Where another run can go on with a source that stands at this offset."""
        self._write(f"position-{number}-{_named(offset)}", position)

    def position(self, number: int, offset: Any) -> Any:
        """What a source told of an offset; none if it was not asked."""
        return self._read(f"position-{number}-{_named(offset)}")

    def tell_saved(self, saved: SavedBatch) -> None:
        write_whole(self.path / f"saved-{saved.id}", msgspec.json.encode(saved))

    def saved(self, savepoint: str) -> SavedBatch | None:
        """What the router told of a savepoint's batch; the batch may still run again."""
        try:
            return msgspec.json.decode((self.path / f"saved-{savepoint}").read_bytes(), type=SavedBatch)
        except OSError:
            return None

    def failure_of_part(self, name: str) -> str:
        """Why a part was not written, if its process could tell."""
        try:
            return (self.path / f"failed-{name}").read_text()
        except OSError:
            return ""


def _named(offset: Any) -> str:
    return hashlib.sha256(json.dumps(offset, sort_keys=True).encode()).hexdigest()[:16]
