"""Watches a running job on the driver: its logs, its lock, its dead letters, and the progress of its batches."""

from __future__ import annotations

import logging
import time

from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.host.reports import warn_unread_dead_letters
from penstock.engine.wire.log_capture import replay_lines
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.run.run import Run
from penstock.spark.checkpoint.storage_watch import StorageWatch
from penstock.spark.query.batch_query import BatchQuery
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.deletions_at_exit import DeletionsAtExit

_CHECK_SECONDS = 1.0


class JobMonitor:
    """Called again and again by the thread that waits for the job."""

    def __init__(
        self, folder: RunFolder, checkpoint: Checkpoint, storage: StorageWatch, deletions: DeletionsAtExit
    ) -> None:
        self._folder = folder
        self._checkpoint = checkpoint
        self._storage = storage
        self._deletions = deletions
        self._next_check = 0.0
        self._warned: set[str] = set()  # operators whose unread dead letters were reported

    def forward_logs(self, run: Run) -> None:
        """Writes log lines of functions to the log of the job and to the loggers of this program."""
        if lines := self._folder.take_logs():
            run.log("\n".join(f"{logging.getLevelName(x.level)} {x.logger} {x}" for x in lines))
            replay_lines(lines)

    def check(self, query: StreamingQuery | BatchQuery) -> None:
        """Checks once per second that the lock is still held, dead letters are read, and batches make progress.

        Raises:
            CheckpointError: another job has taken over the checkpoint.
        """
        if time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + _CHECK_SECONDS
        if self._checkpoint.lock.lost:
            raise CheckpointError(
                "CHECKPOINT_LOST",
                f"Another job has taken over the checkpoint {self._checkpoint.folder}, because this process did not renew its "
                "lock in time. This job stops. The batches that it committed are in the checkpoint.",
            )
        self.warn_unread_dead_letters()
        self._deletions.forget_sockets_sometimes()
        if isinstance(query, StreamingQuery):
            self._storage.check_progress(query)

    def warn_unread_dead_letters(self) -> None:
        """Warns once per operator whose dead letters no stream reads."""
        warn_unread_dead_letters(self._folder.reports.totals().unread_dead_letters, self._warned)
