"""Takes savepoints of a running job. Between two batches its state does not change, so they are written there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from penstock.config import Configuration
from penstock.connectors.file.system.file_system import file_system
from penstock.engine.program.sink_calls import sink_call
from penstock.engine.slots.control import ControlOffset, RequestedSavepoint
from penstock.errors import CheckpointError, PenstockError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest
from penstock.jobs.run.savepoint_folder import create_savepoint_folder, prune_older, savepoint_path
from penstock.local.executor import BatchExecutor
from penstock.local.requests import JobRequests, Report
from penstock.savepoints.saved_job import SavepointInfo, describe_job
from penstock.savepoints.slot_part import chunked_scan
from penstock.savepoints.writing import SlotContents, write_savepoint


class SavepointTaker:
    """Takes the savepoints of one job, one after the other, in the thread of the job."""

    def __init__(self, checkpoint: Checkpoint, configuration: Configuration, requests: JobRequests) -> None:
        self._checkpoint = checkpoint
        self._configuration = configuration
        self._requests = requests
        self._current: tuple[SavepointRequest, Report, SavepointProgress, float] | None = None
        self.requested: RequestedSavepoint | None = None  # the savepoint that the next batch announces

    def begin_next(self) -> None:
        """Begins the next requested savepoint, if none is being taken. The next batch announces it."""
        while self.requested is None and (found := self._requests.next_savepoint()) is not None:
            request, report = found
            progress = SavepointProgress(request.id, end=request.end, requested_at=request.requested_at)
            path = savepoint_path(request, self._configuration, self._checkpoint.folder, self._checkpoint.job_id)
            self._current = request, report, progress, time.monotonic()
            try:
                create_savepoint_folder(path)
            except Exception as error:
                self._fail(error)
                continue
            progress.path, progress.status = path, "taking"
            report(progress)
            self.requested = RequestedSavepoint(request.id, path, request.end)

    def take(self, executor: BatchExecutor, positions: Mapping[int, Any], control: ControlOffset) -> bool:
        """Writes the savepoint that the last batch has announced. Returns whether the job ends with it."""
        assert self._current is not None
        assert self.requested is not None
        request, report, progress, began = self._current
        progress.batch, progress.status = executor.batch - 1, "writing"
        report(progress)
        try:
            self._write(executor, positions, control, progress)
        except Exception as error:
            file_system(self.requested.folder).remove_folder(self.requested.folder)
            self._fail(error)
            return False
        progress.status, progress.seconds = "done", round(time.monotonic() - began, 3)
        self._current = self.requested = None
        report(progress)
        prune_older(progress.path, executor.program.name, self._configuration)
        return bool(request.end)

    def _write(
        self, executor: BatchExecutor, positions: Mapping[int, Any], control: ControlOffset, progress: SavepointProgress
    ) -> None:
        job = describe_job(executor.program, positions)
        for number, sink in enumerate(executor.program.sinks):
            with sink_call(executor.program, number, progress.batch):
                job.sinks[number].memory = sink.memory()
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
        savepoint = write_savepoint(progress.path, job, slots, info)
        files = savepoint.manifest.files
        progress.parts = progress.written = len(files)
        progress.bytes, progress.entries = sum(f.size for f in files), sum(f.entries for f in files)

    def _fail(self, error: Exception) -> None:
        assert self._current is not None
        _, report, progress, began = self._current
        known = isinstance(error, PenstockError)
        progress.code = error.code if isinstance(error, PenstockError) else "SAVEPOINT_FAILED"
        progress.error = (
            error.text if isinstance(error, PenstockError) and known else f"{type(error).__name__}: {error}"
        )
        progress.status, progress.seconds = "failed", round(time.monotonic() - began, 3)
        self._current = self.requested = None
        report(progress)

    def fail_all(self, job_id: str) -> None:
        """Reports all savepoints that were not taken as failed, because the job has ended."""
        error = CheckpointError(
            "SAVEPOINT_JOB_ENDED", f"Job {job_id} ended before the savepoint was complete. Its files were removed."
        )
        if self.requested is not None:
            file_system(self.requested.folder).remove_folder(self.requested.folder)
        if self._current is not None:
            self._fail(error)
        while (found := self._requests.next_savepoint()) is not None:
            request, report = found
            progress = SavepointProgress(request.id, end=request.end, requested_at=request.requested_at)
            self._current = request, report, progress, time.monotonic()
            self._fail(error)
