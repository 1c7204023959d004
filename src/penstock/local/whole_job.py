"""One attempt of a batch job: all its input is one batch. It has no checkpoint, so each attempt runs the complete job."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator

from penstock.connectors.sink import WriteTask
from penstock.engine.host.materialized import FileMaterializedStore
from penstock.engine.program.bounded_read import plan_bounded_read
from penstock.engine.program.pickling import copy_by_value
from penstock.engine.program.program import Program
from penstock.engine.wire.frames import Control
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.local.attempt import CommittedOutput
from penstock.local.executor import BatchExecutor
from penstock.local.reporter import BatchReporter
from penstock.local.requests import JobRequests

_WAIT = 0.01  # seconds until a source that has no data yet is asked again


class WholeJobAttempt:
    """Plans all input, then runs it level by level. A level ends before the next one begins."""

    last_batch = -1  # nothing is committed before the end

    def __init__(
        self, program: Program, checkpoint: Checkpoint, requests: JobRequests, reporter: BatchReporter
    ) -> None:
        self._checkpoint = checkpoint
        self._requests = requests
        self._reporter = reporter
        self._program = copy_by_value(program)  # an earlier attempt has changed its sources
        self._executor: BatchExecutor | None = None

    def batches(self) -> Iterator[CommittedOutput]:
        """Runs the job and yields its output."""
        began, run = time.time(), uuid.uuid4().hex
        program, checkpoint = self._program, self._checkpoint
        read = plan_bounded_read(program, self._source_folder, self._wait)
        if self._requests.canceled.is_set():
            return
        program.batch_partition_count = read.partitions
        materialized = FileMaterializedStore(os.path.join(checkpoint.materialized, run))
        executor = self._executor = BatchExecutor(
            program, WriteTask(0, 0, run, checkpoint.lineage), materialized=materialized
        )
        for uid, sink in zip(executor.program.sink_uids, executor.program.sinks, strict=True):
            sink.attach(checkpoint.create_sink_folder(uid))
        executor.open({})
        now = int(began * 1000) if read.clock is None else read.clock
        control = Control(run, now, read.splits, read.splits, True)
        result = executor.run([(source, task, []) for source, task in read.tasks], control, now)
        committed = executor.commit_sinks(result)
        executor.complete(result)
        self._reporter.add(
            result,
            [],
            began=began,
            committing={},
            log_bytes=0,
            lags={},
            limits={},
        )
        executor.finish_sinks()
        yield 0, committed

    def _source_folder(self, uid: str) -> str:
        folder = os.path.join(self._checkpoint.sources_folder, uid)
        os.makedirs(folder, exist_ok=True)
        return folder

    def _wait(self) -> None:
        self._requests.wait(_WAIT)

    def close(self) -> None:
        if self._executor is not None:
            self._executor.close()
