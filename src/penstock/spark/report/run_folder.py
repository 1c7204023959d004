"""The folder of a run on the driver's machine, through which its processes exchange messages.

Spark runs sources, the control source and the commits of sinks in processes of their own on the driver's machine. Each
message is a small file that is replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.atomic_file import write_atomic
from penstock.engine.slots.alignment import AlignmentTables
from penstock.engine.slots.control import RequestedSavepoint, SplitStatus, StopRequest
from penstock.engine.wire.frames import SavepointPartHandle
from penstock.engine.wire.log_capture import LogLine
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.metrics import JobMetrics
from penstock.metrics.values import MetricsDelta
from penstock.spark.report.helper_processes import HelperProcesses
from penstock.spark.report.reports import Reports
from penstock.spark.report.run_facts import RunFacts
from penstock.spark.session.pickling import pickle_for_driver

Message = TypeVar("Message")


class _BatchMetrics(msgspec.Struct):
    """Metrics before and after a batch. If the batch is committed again, its metrics are added to `before` again."""

    batch: int
    before: JobMetrics
    after: JobMetrics


class SavepointBatch(msgspec.Struct):
    """The batch of a savepoint as the router has seen it."""

    id: str
    batch: int
    parts: list[SavepointPartHandle]
    sinks: dict[int, Any] = {}  # what sinks remember after the batch, by number


class RunFolder:
    """Reads and writes the messages of one run."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        self.reports = Reports(self.path)
        self.processes = HelperProcesses(self.path / "processes")

    def create(self, facts: RunFacts, program: bytes) -> None:
        """Prepares the folder for an attempt."""
        for name in ("driver-outputs", "logs", "checkpoints"):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        self.processes.clear()
        self._write("facts", facts)
        self.write_program(program)

    def write_program(self, program: bytes) -> None:
        write_atomic(self.path / "program", program, durable=False)

    def read_facts(self) -> RunFacts:
        return msgspec.msgpack.decode((self.path / "facts").read_bytes(), type=RunFacts)

    def read_program(self) -> tuple[str, bytes]:
        """Returns the id of the attempt and the pickled program."""
        return self.read_facts().run_id, (self.path / "program").read_bytes()

    def write_tasks(self, tasks: list[tuple[int, bytes]]) -> None:
        """Stores the read tasks of a batch job, each with the number of its source."""
        self._write("tasks", tasks)

    def read_tasks(self) -> list[tuple[int, bytes]]:
        return msgspec.msgpack.decode((self.path / "tasks").read_bytes(), type=list[tuple[int, bytes]])

    def source_folder(self, uid: str) -> str:
        """Returns a folder for files of a source. It exists as long as the checkpoint."""
        folder = Path(self.read_facts().source_data) / uid
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def _write(self, name: str, message: Any) -> None:
        write_atomic(self.path / name, msgspec.msgpack.encode(message), durable=False)

    def _read(self, name: str, kind: type[Message]) -> Message | None:
        """Returns None if the message was never written."""
        try:
            return msgspec.msgpack.decode((self.path / name).read_bytes(), type=kind)
        except OSError:
            return None

    # -- sources to the control source

    def write_split_status(self, number: int, status: SplitStatus) -> None:
        self._write(f"source-{number}", status)

    def read_split_status(self, number: int) -> SplitStatus | None:
        return self._read(f"source-{number}", SplitStatus)

    def write_lag(self, number: int, lag: int | None) -> None:
        self._write(f"lag-{number}", [lag])

    def read_lag(self, number: int) -> int | None:
        """Returns how many records of a source wait to be read, or None if the source does not know."""
        message = self._read(f"lag-{number}", list[int | None])
        return None if message is None else message[0]

    def mark_control_task(self) -> None:
        """Records that the batch that is being planned has a task of the control source."""
        self._write("control-task", self._last_batch())

    def has_control_task(self) -> bool:
        """Whether the batch that is running has a task of the control source, besides those of the job."""
        return self._read("control-task", int) == self._last_batch()

    def _last_batch(self) -> int:
        report = self.last_report()
        return -1 if report is None else report.batch

    # -- router to the control source and to the driver

    def write_checkpoint_stats(self, checkpoint: CheckpointStats) -> None:
        """Leaves what the tasks of a committed batch have reported, for the driver."""
        file = self.path / "checkpoints" / f"{checkpoint.id:012d}"
        write_atomic(file, msgspec.msgpack.encode(checkpoint), staging_folder=self.path, durable=False)

    def take_checkpoint_stats(self) -> list[CheckpointStats]:
        """Returns the checkpoints not read yet, in order."""
        checkpoints = []
        for file in sorted((self.path / "checkpoints").iterdir()):
            checkpoints.append(msgspec.msgpack.decode(file.read_bytes(), type=CheckpointStats))
            file.unlink()
        return checkpoints

    def write_report(self, report: BatchReport) -> None:
        self.reports.add(report)
        self._write("report", report)

    def last_report(self) -> BatchReport | None:
        """Returns the report of the last committed batch."""
        return self._read("report", BatchReport)

    def write_alignment(self, tables: AlignmentTables) -> None:
        self._write("alignment", tables)

    def read_alignment(self) -> AlignmentTables:
        """Returns the watermarks of aligned splits after the last committed batch."""
        return self._read("alignment", AlignmentTables) or {}

    # -- metrics and log lines of user functions

    def add_metrics(self, batch: int, changes: list[tuple[int, MetricsDelta]]) -> None:
        """Adds the metrics of a committed batch, by subtask, to the totals of the run."""
        stored = self._read_metrics()
        if stored is None and not any(metrics for _, metrics in changes):
            return
        before = JobMetrics() if stored is None else stored.before if stored.batch == batch else stored.after
        after = msgspec.convert(msgspec.to_builtins(before), JobMetrics, strict=False)
        after.add(changes)
        write_atomic(self.path / "metrics", msgspec.json.encode(_BatchMetrics(batch, before, after)), durable=False)

    def _read_metrics(self) -> _BatchMetrics | None:
        try:
            return msgspec.json.decode((self.path / "metrics").read_bytes(), type=_BatchMetrics)
        except OSError:
            return None

    def metrics(self) -> JobMetrics:
        """Returns the metrics of all batches of this run."""
        stored = self._read_metrics()
        return JobMetrics() if stored is None else stored.after

    def accepts_logs(self) -> bool:
        """Whether this process can write log lines here. An executor on another machine cannot."""
        return (self.path / "logs").is_dir()

    def write_logs(self, lines: list[LogLine]) -> None:
        """Leaves log lines for the driver."""
        if lines:
            name = f"{time.time_ns():020d}-{os.getpid()}"
            data = msgspec.json.encode(lines)
            write_atomic(self.path / "logs" / name, data, staging_folder=self.path, durable=False)

    def take_logs(self) -> list[LogLine]:
        """Returns the log lines not read yet."""
        lines: list[LogLine] = []
        for file in sorted((self.path / "logs").iterdir()):
            lines += msgspec.json.decode(file.read_bytes(), type=list[LogLine])
            file.unlink()
        return lines

    def write_driver_outputs(self, batch: int, outputs: dict[int, list[Any]]) -> None:
        """Leaves the elements of one batch that sinks return to the driver, by the number of the sink."""
        if any(outputs.values()):
            file = self.path / "driver-outputs" / f"{batch:012d}"
            write_atomic(file, pickle_for_driver(outputs), staging_folder=self.path, durable=False)

    def take_driver_outputs(self) -> list[tuple[int, dict[int, list[Any]]]]:
        """Returns the outputs not read yet, in order of their batches."""
        outputs = []
        for file in sorted((self.path / "driver-outputs").iterdir()):
            outputs.append((int(file.name), pickle.loads(file.read_bytes())))
            file.unlink()
        return outputs

    # -- control source to the driver, and back

    def mark_finished(self) -> None:
        self._write("finished", True)

    def is_finished(self) -> bool:
        return (self.path / "finished").exists()

    def request_stop(self, drain: bool) -> None:
        self._write("stop", StopRequest(drain))

    def stop_request(self) -> StopRequest | None:
        return self._read("stop", StopRequest)

    def write_record_limit(self, records: int) -> None:
        self._write("limit", records)

    def record_limit(self) -> int | None:
        """Returns the most records of a source per batch, if that was changed while the job runs."""
        return self._read("limit", int)

    def write_pause(self, seconds: float) -> None:
        self._write("pause", float(seconds))

    def is_pausing(self) -> bool:
        """Whether the pause after the last batch is still on."""
        pause, report = self._read("pause", float), self.last_report()
        return pause is not None and report is not None and time.time() < report.ended_at + pause

    # -- savepoints: requested by the driver, forwarded to the slots by the control source, answered by the router

    def request_savepoint(self, request: RequestedSavepoint) -> None:
        self._write("savepoint", request)

    def requested_savepoint(self) -> RequestedSavepoint | None:
        """Returns the savepoint that is being taken."""
        return self._read("savepoint", RequestedSavepoint)

    def clear_savepoint(self) -> None:
        """Removes the request and its answers, when the savepoint was taken or has failed."""
        for file in (self.path / "savepoint", *self.path.glob("saved-*"), *self.path.glob("position-*")):
            file.unlink(missing_ok=True)

    def write_position(self, number: int, offset: Any, position: Any) -> None:
        """Stores the position from which another run can continue a source that has this offset."""
        data = json.dumps(position).encode()  # as in the manifest of the savepoint
        write_atomic(self._position_file(number, offset), data, durable=False)

    def read_position(self, number: int, offset: Any) -> Any:
        """Returns the position that a source has stored for an offset, or None."""
        try:
            return json.loads(self._position_file(number, offset).read_text())
        except OSError:
            return None

    def _position_file(self, number: int, offset: Any) -> Path:
        digest = hashlib.sha256(json.dumps(offset, sort_keys=True).encode()).hexdigest()[:16]
        return self.path / f"position-{number}-{digest}"

    def write_savepoint_batch(self, saved: SavepointBatch) -> None:
        data = msgspec.json.encode(saved)  # the memory of sinks is JSON, as in the manifest
        write_atomic(self.path / f"saved-{saved.id}", data, durable=False)

    def read_savepoint_batch(self, savepoint: str) -> SavepointBatch | None:
        """Returns what the router has seen of the batch of a savepoint. The batch may still run again."""
        try:
            return msgspec.json.decode((self.path / f"saved-{savepoint}").read_bytes(), type=SavepointBatch)
        except OSError:
            return None

    def read_part_failure(self, name: str) -> str:
        """Returns why a part of a savepoint was not written, if its process could report it."""
        try:
            return (self.path / f"failed-{name}").read_text()
        except OSError:
            return ""
