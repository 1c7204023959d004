"""Takes savepoints of a running job. Between two batches its state does not change, so they are written there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.config import Configuration
from penstock.connectors.file.system.file_system import file_system
from penstock.engine.program.sink_calls import sink_call
from penstock.engine.slots.control import ControlOffset, RequestedSavepoint
from penstock.errors import CheckpointError, PenstockError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest
from penstock.jobs.run.savepoint_folder import create_savepoint_folder, find_sink_files, prune_older, savepoint_path
from penstock.local.executor import BatchExecutor
from penstock.local.requests import JobRequests, Report
from penstock.savepoints.saved_job import SavepointInfo, describe_job
from penstock.savepoints.slot_part import chunked_scan
from penstock.savepoints.writing import SlotContents, write_savepoint


@dataclass(slots=True)
class _RequestedRun:
    """A savepoint that is being taken, and where its progress is reported."""

    report: Report
    progress: SavepointProgress
    began: float

    def end(self, status: Literal["done", "failed"]) -> None:
        self.progress.status, self.progress.seconds = status, round(time.monotonic() - self.began, 3)
        self.report(self.progress)

    def fail(self, error: Exception) -> None:
        if isinstance(error, PenstockError):
            self.progress.code, self.progress.error = error.code, error.text
        else:
            self.progress.code, self.progress.error = "SAVEPOINT_FAILED", f"{type(error).__name__}: {error}"
        self.end("failed")


class SavepointTaker:
    """Takes the savepoints of one job, one after the other, in the thread of the job."""

    def __init__(self, checkpoint: Checkpoint, configuration: Configuration, requests: JobRequests) -> None:
        self._checkpoint = checkpoint
        self._configuration = configuration
        self._requests = requests
        self._current: _RequestedRun | None = None
        self.requested: RequestedSavepoint | None = None  # the savepoint that the next batch announces

    def begin_next(self) -> None:
        """Begins the next requested savepoint, if none is being taken. The next batch announces it."""
        while self.requested is None and (found := self._requests.next_savepoint()) is not None:
            request, report = found
            current = _RequestedRun(report, _new_progress(request), time.monotonic())
            path = savepoint_path(request, self._configuration, self._checkpoint.folder, self._checkpoint.job_id)
            try:
                create_savepoint_folder(path)
            except Exception as error:
                current.fail(error)
                continue
            current.progress.path, current.progress.status = path, "taking"
            report(current.progress)
            self._current = current
            self.requested = RequestedSavepoint(request.id, path, request.end)

    def take(self, executor: BatchExecutor, positions: Mapping[int, Any], control: ControlOffset) -> bool:
        """Writes the savepoint that the last batch has announced. Returns whether the job ends with it."""
        assert self._current is not None
        assert self.requested is not None
        current, folder = self._current, self.requested.folder
        self._current = self.requested = None
        current.progress.batch, current.progress.status = executor.batch - 1, "writing"
        current.report(current.progress)
        try:
            self._write(executor, positions, control, current.progress)
        except Exception as error:
            file_system(folder).remove_folder(folder)
            current.fail(error)
            return False
        current.end("done")
        prune_older(folder, executor.program.name, self._configuration)
        return bool(current.progress.end)

    def _write(
        self, executor: BatchExecutor, positions: Mapping[int, Any], control: ControlOffset, progress: SavepointProgress
    ) -> None:
        job = describe_job(executor.program, positions)
        for number, sink in enumerate(executor.program.sinks):
            with sink_call(executor.program, number, progress.batch):
                job.sinks[number].memory = sink.memory_in(progress.path)
        slots = [SlotContents(*at, meta, chunked_scan(view.scan)) for at, meta, view in executor.slots()]
        info = SavepointInfo(
            self._checkpoint.job_id,
            progress.batch,
            control.to_json(),
            ended=progress.end,
            lineage=self._checkpoint.lineage,
            checkpoint=self._checkpoint.folder,
            from_savepoint=self._checkpoint.from_savepoint,
            id=progress.id,
        )
        sink_files = find_sink_files(file_system(progress.path), progress.path)
        savepoint = write_savepoint(progress.path, job, slots, info, sink_files)
        files = savepoint.manifest.files
        progress.parts = progress.written = len(files)
        progress.bytes, progress.entries = sum(f.size for f in files), sum(f.entries for f in files)

    def fail_all(self) -> None:
        """Reports all savepoints that were not taken as failed, because the job has ended."""
        job_id = self._checkpoint.job_id
        error = CheckpointError(
            "SAVEPOINT_JOB_ENDED", f"Job {job_id} ended before the savepoint was complete. Its files were removed."
        )
        if self.requested is not None and self._current is not None:
            file_system(self.requested.folder).remove_folder(self.requested.folder)
            self._current.fail(error)
            self._current = self.requested = None
        while (found := self._requests.next_savepoint()) is not None:
            request, report = found
            _RequestedRun(report, _new_progress(request), time.monotonic()).fail(error)


def _new_progress(request: SavepointRequest) -> SavepointProgress:
    return SavepointProgress(request.id, end=request.end, requested_at=request.requested_at)
