"""Watches the checkpoint storage of a job: recognises its failures, waits for it, and reports both."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from penstock.config import Configuration
from penstock.config.checkpoint_options import STORE_MOST_PAUSE, STORE_SLOW, STORE_TIMEOUT
from penstock.errors import CheckpointError
from penstock.jobs.diagnosis.machine import OVERLOADED
from penstock.jobs.registry.cpu_time import CpuTime
from penstock.spark.checkpoint.storage_failure import (
    find_damage,
    find_file_failure,
    find_storage_failure,
    is_disk_error_without_path,
    is_reachable,
)
from penstock.spark.session.jvm_process import jvm_cpu_time

_FIRST_PAUSE = 1.0  # seconds
_POLL_SECONDS = 0.05
_CHECK_SECONDS = 5.0  # between two checks of a batch that does not end
_PROBE_BYTES = 256 << 10
_STORAGE_FRAME = re.compile(r"org\.apache\.hadoop\.fs\.|CheckpointFileManager")
# The storage operation of a Spark thread, by a method on its stack. The first match counts.
_OPERATIONS = (
    ("markMicroBatchStart", "writing the offset log"),
    ("markMicroBatchEnd", "writing the commit log"),
    ("loadStateStore", "reading state"),
    ("RocksDBStateStore.commit", "writing state"),
    ("streaming.state.", "reading or writing state"),
    ("streaming.checkpointing.", "reading or writing Spark's logs"),
)


class OperationSample(NamedTuple):
    """A thread that accessed storage at one moment."""

    thread: int
    operation: str
    cpu: CpuTime  # of the JVM, until then

    def is_blocked_since(self, before: OperationSample) -> bool:
        """Whether the thread was in the same operation at an earlier moment, and a lack of CPU time does not explain it."""
        is_same = (self.thread, self.operation) == (before.thread, before.operation)
        return is_same and self.cpu.since(before.cpu).wait_share < OVERLOADED


class StorageWatch:
    """Watches the storage of one job. Times are seconds of the monotonic clock, except in messages."""

    def __init__(
        self, session: SparkSession, folder: str, configuration: Configuration, last_batch: Callable[[], int]
    ) -> None:
        self._session = session
        self._folder = folder
        self._last_batch = last_batch  # the last batch that sinks committed in this run; -1: none
        timeout = configuration.get(STORE_TIMEOUT)
        self._timeout = None if timeout is None else timeout / 1000
        self._max_pause = configuration.get(STORE_MOST_PAUSE) / 1000
        self._slow = configuration.get(STORE_SLOW) / 1000
        self._failed_since: float | None = None  # None: no failure since the last committed batch
        self._failed_since_text = ""
        self._blocked = False  # storage does not fail, but an operation does not end
        self._pause = _FIRST_PAUSE
        self._batch = -1
        self._last_progress = time.monotonic()
        self._next_check = 0.0
        self._last_sample: OperationSample | None = None  # at the last check
        self.report: Callable[[str], None] = lambda message: None  # an empty message ends the wait

    # -- errors

    def storage_failure_in(self, error: BaseException) -> str | None:
        """The message of the storage failure that ended a query or prevented its start; None if storage did not fail."""
        failure = find_file_failure(error, self._folder) or find_storage_failure(java_stack(error), self._folder)
        if failure is None and not is_reachable(self._folder):  # any error may be a consequence
            return f"{self._folder} does not exist"
        if failure is None and (is_disk_error_without_path(error) or self.damage_in(error)):
            return self._probe()  # the error does not name the disk
        return failure

    def damage_in(self, error: BaseException) -> str | None:
        """A message about the damaged file that ended a query; None if no damaged file did."""
        return find_damage(java_stack(error), self._folder)

    @contextmanager
    def explain_start_failure(self) -> Iterator[None]:
        """Raises a storage failure at the start of a job as an error, because a job that starts does not wait for storage."""
        try:
            yield
        except Exception as error:
            failure = self.storage_failure_in(error) or self.damage_in(error)
            if failure is None:
                raise
            raise CheckpointError(
                "STORE_UNREACHABLE",
                f"The checkpoint {self._folder} cannot be read and written: {failure}. No batch has run. Repair the storage and "
                "start the job again.",
            ) from error

    # -- waiting

    def wait(self, failure: str, is_over: Callable[[], bool]) -> bool:
        """Waits until a file can be written again. Returns False if the job is over before.

        The failure counts as ended when the next batch is committed.
        """
        while not is_over():
            self._begin_failure()
            pause, self._pause = min(self._pause, self._max_pause), min(2 * self._pause, self._max_pause)
            self._report_wait(failure, pause)
            if not _sleep(pause, is_over):
                return False
            next_failure = self._probe_in_thread(is_over)
            if next_failure is None:
                return not is_over()
            failure = next_failure
        return False

    def _begin_failure(self) -> None:
        now = time.monotonic()
        if self._failed_since is None:
            self._batch = self._last_batch()
            self._failed_since, self._failed_since_text, self._pause = now, time.strftime("%H:%M:%S"), _FIRST_PAUSE

    def _end_failure(self) -> None:
        self._blocked = False
        if self._failed_since is not None:
            self._failed_since = None
            self.report("")

    def _report_wait(self, failure: str, pause: float) -> None:
        assert self._failed_since is not None
        waited = time.monotonic() - self._failed_since
        if self._timeout is not None and waited + pause > self._timeout:
            raise CheckpointError(
                "STORE_UNREACHABLE",
                f"Checkpoint storage has failed for {waited:.0f} s, and execution.checkpointing.store.timeout allows "
                f"{self._timeout:g} s: {failure}. The batch was not committed, and no data is lost. Repair the storage and resume "
                f"{self._folder}.",
            )
        message = f"waits for checkpoint storage since {self._failed_since_text}: {failure}; retries"
        self.report(
            f"{message} every {self._max_pause:g} s" if pause >= self._max_pause else f"{message} in {pause:g} s"
        )

    def _probe_in_thread(self, is_over: Callable[[], bool]) -> str | None:
        """Like `_probe`, but returns when the job is over, even if the probe hangs."""
        answer: list[str | None] = []
        probe = threading.Thread(target=lambda: answer.append(self._probe()), name="penstock-store-probe", daemon=True)
        probe.start()
        while probe.is_alive() and not is_over():
            probe.join(_POLL_SECONDS)
        return answer[0] if answer else None

    def _probe(self) -> str | None:
        """Writes and reads a small file. Returns the message of the failure; None if it succeeds."""
        jvm: Any = self._session._jvm
        name = os.path.join(self._folder, "spark", ".penstock-probe")
        try:
            if not is_reachable(self._folder):
                return f"{self._folder} does not exist"
            path = jvm.org.apache.hadoop.fs.Path(name)
            system = path.getFileSystem(self._session._jsparkSession.sessionState().newHadoopConf())
            try:
                out = system.create(path, True)
                out.write(bytearray(_PROBE_BYTES))
                out.close()
                system.open(path).close()
            finally:
                system.delete(path, False)
        except Py4JJavaError as error:
            return str(error.java_exception.getMessage())
        except (Py4JError, OSError) as error:
            return str(error)
        return None

    # -- a batch that does not end

    def check_progress(self, query: Any) -> None:
        """Checks whether batches make progress, and reports a storage operation that does not end. Called regularly."""
        now, batch = time.monotonic(), self._last_batch()
        if batch != self._batch:
            self._batch, self._last_progress, self._last_sample = batch, now, None
            self._end_failure()
            return
        if now - self._last_progress < self._slow or now < self._next_check:
            return
        self._next_check = now + _CHECK_SECONDS
        is_running = query.isActive and query.status["isTriggerActive"]
        before, self._last_sample = self._last_sample, self._sample(query.name) if is_running else None
        if self._last_sample is None:
            if self._blocked:  # the batch waits for something else now
                self._end_failure()
        elif before is not None and self._last_sample.is_blocked_since(before):
            self._begin_failure()
            self._blocked = True
            current, operation = "the first batch" if batch < 0 else f"the batch after {batch}", before.operation
            self.report(
                f"waits for checkpoint storage since {self._failed_since_text}: {operation} does not end, in {current}"
            )

    def _sample(self, query: str) -> OperationSample | None:
        """What a Spark thread is doing in storage now; None if no thread accesses storage."""
        try:
            found = self._storage_operation(query)
            return None if found is None else OperationSample(*found, jvm_cpu_time(self._session))
        except Py4JError:  # Spark has ended, which the job reports
            return None

    def _storage_operation(self, query: str) -> tuple[int, str] | None:
        """A Spark thread of the driver process that accesses storage, and what it does; None if there is none."""
        jvm: Any = self._session._jvm
        threads = jvm.java.lang.Thread.getAllStackTraces()
        for entry in threads.entrySet():
            name = entry.getKey().getName()
            if not name.startswith(f"stream execution thread for {query}") and "task launch worker" not in name:
                continue
            stack = "\n".join(frame.toString() for frame in entry.getValue())
            if _STORAGE_FRAME.search(stack):
                operation = next((text for method, text in _OPERATIONS if method in stack), None)
                if operation is not None:
                    return int(entry.getKey().getId()), operation
        return None


def java_stack(error: BaseException) -> str:
    """The Java stack trace of an error, with all its causes."""
    if isinstance(error, CapturedException):
        cause = error._cause
        return "\n".join(filter(None, (error._desc, error._stackTrace, java_stack(cause) if cause is not None else "")))
    if isinstance(error, Py4JJavaError):
        return str(error)
    return "" if error.__cause__ is None else java_stack(error.__cause__)


def _sleep(seconds: float, is_over: Callable[[], bool]) -> bool:
    """Sleeps. Returns False if the job is over before."""
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0:
        if is_over():
            return False
        time.sleep(min(_POLL_SECONDS, remaining))
    return True
