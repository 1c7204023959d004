"""Takes savepoints of a running job: requests a batch, waits for the files of the slots, and publishes the manifest last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyspark

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_TIMEOUT
from penstock.connectors.file.system.file_system import FileSystem
from penstock.connectors.source import Source
from penstock.engine.program.program import Program
from penstock.engine.slots.control import RequestedSavepoint
from penstock.engine.wire.frames import SavepointPartHandle
from penstock.errors import CheckpointError, PenstockError, UnsupportedOperation
from penstock.jobs.registry.process import ProcessId
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest
from penstock.jobs.run.savepoint_folder import create_savepoint_folder, find_sink_files, prune_older, savepoint_path
from penstock.savepoints.manifest import Manifest
from penstock.savepoints.saved_job import SavepointInfo, describe_job
from penstock.savepoints.savepoint import publish
from penstock.savepoints.slot_part import SavepointPart
from penstock.savepoints.writing import build_manifest
from penstock.spark.checkpoint.spark_log import read_offsets
from penstock.spark.report.run_folder import SavepointBatch

if TYPE_CHECKING:
    from penstock.spark.job.job import SparkJob

Report = Callable[[SavepointProgress], None]
_POLL_SECONDS = 0.05
_FILE_POLL_SECONDS = 0.25  # between two lookups of a file, which may be on remote storage


class SavepointTaker:
    """Takes the savepoints of one job, one at a time, each in its own thread."""

    def __init__(self, job: SparkJob, configuration: Configuration) -> None:
        self._job = job
        self._configuration = configuration
        self._lock = threading.Lock()

    def start(self, request: SavepointRequest, report: Report) -> None:
        """Starts to take a savepoint. Returns immediately."""
        threading.Thread(
            target=self.take, args=(request, report), name=f"penstock-savepoint-{request.id[:8]}", daemon=True
        ).start()

    def take(self, request: SavepointRequest, report: Report) -> None:
        """Takes a savepoint. `report` is called with its progress and its result."""
        progress = SavepointProgress(request.id, end=request.end, requested_at=request.requested_at)
        report(progress)
        with self._lock:
            start = time.monotonic()
            savepoint_run = _SavepointRun(self._job, self._configuration, request, progress, report)
            try:
                savepoint_run.run()
                progress.status = "done"
            except PenstockError as error:
                progress.code, progress.error = error.code, error.text
            except Exception as error:
                progress.code, progress.error = "SAVEPOINT_FAILED", f"{type(error).__name__}: {error}"
            if progress.status != "done":
                progress.status = "failed"
                savepoint_run.clean_up()
            progress.seconds = round(time.monotonic() - start, 3)
            report(progress)
            savepoint_run.end_job()
            if progress.status == "done":
                prune_older(progress.path, self._job.program.name, self._configuration)
            else:
                savepoint_run.clean_up_after_writers()


class _SavepointRun:
    """Takes one savepoint."""

    def __init__(
        self,
        job: SparkJob,
        configuration: Configuration,
        request: SavepointRequest,
        progress: SavepointProgress,
        report: Report,
    ) -> None:
        self._job = job
        self._folder = job.folder
        self._request = request
        self._progress = progress
        self._report = report
        self._path = savepoint_path(request, configuration, job.checkpoint.folder, job.job_id)
        self._system: FileSystem | None = None
        self._timeout = configuration.get(CHECKPOINT_TIMEOUT) / 1000
        self._deadline = time.monotonic() + self._timeout
        self._parts: list[SavepointPartHandle] = []

    def run(self) -> None:
        """Takes the savepoint. Raises an error if it fails."""
        check_supported(self._job.program, self._job.real_time)
        self._check_running()
        self._progress.path = self._path
        self._system = create_savepoint_folder(self._path)
        self._folder.request_savepoint(RequestedSavepoint(self._request.id, self._path, self._request.end))
        self._report_status("taking")
        saved = self._wait_for_batch()
        self._parts = saved.parts
        self._progress.batch, self._progress.parts = saved.batch, len(saved.parts)
        self._report_status("writing")
        parts = [self._wait_for_part(part) for part in saved.parts]
        manifest = self._manifest(saved, parts)
        publish(self._path, manifest)
        for part in saved.parts:
            self._system.remove(f"{self._path}/{part.name}.json")
        self._remove_unused({file.name for file in manifest.files})

    def _report_status(self, status: Any) -> None:
        self._progress.status = status
        self._report(self._progress)

    def _wait_for_batch(self) -> SavepointBatch:
        """Waits until the batch of the savepoint is committed."""
        while True:
            saved = self._folder.read_savepoint_batch(self._request.id)
            if saved is not None and Path(self._job.checkpoint.spark, "commits", str(saved.batch)).exists():
                return self._folder.read_savepoint_batch(self._request.id) or saved
            self._wait("its batch is not committed", _POLL_SECONDS)

    def _wait_for_part(self, part: SavepointPartHandle) -> SavepointPart:
        """Waits until the file of a slot is complete."""
        if part.error:
            raise _part_error(part, part.error)
        assert self._system is not None
        description = f"{self._path}/{part.name}.json"
        process = ProcessId(part.host, part.pid, part.started)
        while True:
            has_ended = process.is_here and not process.is_alive()
            if self._system.get_status(description) is not None:
                break
            if has_ended:
                raise _part_error(
                    part, self._folder.read_part_failure(part.name) or "the process that wrote it was killed"
                )
            self._wait(f"file {part.name} is not complete", _FILE_POLL_SECONDS)
        file = self._system.open(description)
        try:
            written = msgspec.json.decode(file.read(), type=SavepointPart)
        finally:
            file.close()
        self._progress.written += 1
        self._progress.bytes += written.file.size
        self._progress.entries += written.file.entries
        self._report(self._progress)
        return written

    def _check_running(self) -> None:
        if self._job.status().is_terminal_state():
            raise CheckpointError(
                "SAVEPOINT_JOB_ENDED",
                f"Job {self._job.job_id} ended before the savepoint was complete. Its files were removed.",
            )

    def _wait(self, reason: str, seconds: float) -> None:
        self._check_running()
        if time.monotonic() > self._deadline:
            raise CheckpointError(
                "SAVEPOINT_EXPIRED",
                f"The savepoint was not complete after {self._timeout:.0f} s: {reason}. The job continues. "
                f"Increase {CHECKPOINT_TIMEOUT.key}, or try again when the job has less load.",
            )
        time.sleep(seconds)

    def _manifest(self, saved: SavepointBatch, parts: list[SavepointPart]) -> Manifest:
        job, program = self._job, self._job.program
        control, *offsets = read_offsets(job.checkpoint.folder, saved.batch)
        positions = {
            s.number: self._position(s.number, s.source, offset)
            for s, offset in zip(program.sources, offsets, strict=True)
        }
        saved_job = describe_job(program, positions)
        for number, sink in enumerate(saved_job.sinks):
            sink.memory = saved.sinks.get(number)
        info = SavepointInfo(
            job.job_id,
            saved.batch,
            control,
            ended=self._request.end,
            lineage=job.checkpoint.lineage,
            checkpoint=job.checkpoint.folder,
            from_savepoint=job.checkpoint.from_savepoint,
            spark=pyspark.__version__,
            id=self._request.id,
        )
        manifest = build_manifest(saved_job, parts, info)
        assert self._system is not None
        manifest.sink_files = find_sink_files(self._system, self._path)
        return manifest

    def _position(self, number: int, source: Source, offset: Any) -> Any:
        if offset is None:
            return None
        position = self._folder.read_position(number, offset)
        if position is None and type(source).position is not Source.position:
            raise CheckpointError(
                "SAVEPOINT_POSITION",
                f"Source {number} ({type(source).__name__}) did not report its position for offset {offset}. Try again.",
            )
        return offset if position is None else position

    def _remove_unused(self, used: set[str]) -> None:
        """Removes files of attempts whose batch was repeated."""
        assert self._system is not None
        for name in self._system.list_names(self._path):
            if name not in used and name[:1].isdigit():
                self._system.remove(f"{self._path}/{name}")

    def clean_up(self) -> None:
        """Removes the files of a failed savepoint."""
        if self._system is not None:
            self._system.remove_folder(self._path)

    def clean_up_after_writers(self) -> None:
        """Removes files that slots have written after the failure, when their processes have ended."""
        for part in self._parts:
            process = ProcessId(part.host, part.pid, part.started)
            while process.is_here and process.is_alive():
                time.sleep(_FILE_POLL_SECONDS)
        self.clean_up()

    def end_job(self) -> None:
        """Stops or drains the job if the request includes it. After a failed savepoint the job continues if it can."""
        end, done = self._request.end, self._progress.status == "done"
        if (end and done) or (end == "drain" and self._progress.batch >= 0):
            # Before the request is cleared, so that sources return nothing after the batch of the savepoint.
            self._folder.request_stop(drain=end == "drain")
        self._folder.clear_savepoint()
        if end == "stop" and done:
            self._folder.mark_finished()


def _part_error(part: SavepointPartHandle, reason: str) -> CheckpointError:
    level, slot, _ = part.name.split("-")
    return CheckpointError(
        "SAVEPOINT_PART",
        f"The state of slot {slot} of level {level} was not written: {reason}. The job continues. Try again.",
    )


def check_supported(program: Program, real_time: bool) -> None:
    """Raises an error if a job cannot take savepoints."""
    if program.batch_mode or real_time:
        mode = "in batch mode" if program.batch_mode else "in Spark's real-time mode, without Penstock state"
        raise UnsupportedOperation("SAVEPOINTS", f"Job '{program.name}' runs {mode}. It cannot take savepoints.")
    native = [s.name for s in program.sources if s.source.native]
    if native:
        raise UnsupportedOperation(
            "SAVEPOINTS",
            f"Source '{native[0]}' is a streaming DataFrame. Only the checkpoint of Spark has its position, and a new checkpoint "
            "cannot start there. Use a Penstock source, or resume the job from its checkpoint.",
        )
