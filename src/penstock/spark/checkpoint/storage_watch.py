"""Looks after a job's checkpoint store: says that the job waits for it, and when it is back."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from penstock.config import STORE_MOST_PAUSE, STORE_PATIENCE, STORE_SLOW, Configuration
from penstock.errors import CheckpointError
from penstock.spark.store_trouble import damage_in, is_reachable, names_no_file, trouble_in, trouble_of_files

_FIRST_PAUSE = 1.0
_POLL = 0.05
_LOOK = 5.0  # seconds between two looks at what a batch that does not end is doing
_PROBE = 256 << 10  # bytes
_IN_STORE = re.compile(r"org\.apache\.hadoop\.fs\.|CheckpointFileManager")
# What a thread of Spark's does at the store, by a method that it is in; the first that fits counts.
_DOING = (
    ("markMicroBatchStart", "noting what the next batch reads"),
    ("markMicroBatchEnd", "noting that a batch is done"),
    ("loadStateStore", "reading state"),
    ("RocksDBStateStore.commit", "writing state"),
    ("streaming.state.", "reading or writing state"),
    ("streaming.checkpointing.", "reading or writing Spark's logs"),
)

Tell = Callable[[str], None]


class StoreWatch:
    """One job's view of its store. Times are seconds of a clock that only goes forward, except where people read them."""

    def __init__(
        self, session: SparkSession, folder: str, configuration: Configuration, last_batch: Callable[[], int]
    ) -> None:
        self._session = session
        self._folder = folder
        self._last_batch = last_batch  # that the sinks took in this run; -1: none
        patience = configuration.get(STORE_PATIENCE)
        self._patience = None if patience is None else patience / 1000
        self._most = configuration.get(STORE_MOST_PAUSE) / 1000
        self._slow = configuration.get(STORE_SLOW) / 1000
        self._since: float | None = None  # of the trouble that the last batch has not outlived
        self._since_shown = ""
        self._silent = False  # the trouble is a batch that does not end
        self._pause = _FIRST_PAUSE
        self._batch = -1
        self._moved = time.monotonic()
        self._next_look = 0.0
        self.tell: Tell = lambda words: None

    # -- what ended a query

    def trouble_of(self, ended: BaseException) -> str | None:
        """What the store said, when it is the store that ended a query or did not let it start."""
        told = trouble_of_files(ended, self._folder) or trouble_in(stack_of(ended), self._folder)
        if told is None and not is_reachable(self._folder):  # whatever stumbled over that first
            return f"{self._folder} is not there"
        if told is None and (names_no_file(ended) or self.damage_of(ended)):
            return self._probe()  # a write that found no room does not say where: the store is asked
        return told

    def damage_of(self, ended: BaseException) -> str | None:
        """What is wrong with a file of the checkpoint, when that ended a query."""
        return damage_in(stack_of(ended), self._folder)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Around the start of a job, which does not wait: who started it is told at once what is wrong."""
        try:
            yield
        except Exception as error:
            trouble = self.trouble_of(error) or self.damage_of(error)
            if trouble is None:
                raise
            raise CheckpointError(
                "STORE_UNREACHABLE",
                f"The checkpoint {self._folder} cannot be read and written: {trouble}. Nothing has run: mend the store and "
                "start the job again.",
            ) from error

    # -- waiting

    def wait(self, trouble: str, over: Callable[[], bool]) -> bool:
        """Until the store takes a file again, or the job is over: False. A batch that is committed ends the trouble."""
        while not over():
            self._begin_trouble()
            pause, self._pause = min(self._pause, self._most), min(2 * self._pause, self._most)
            self._say(trouble, pause)
            if not _slept(pause, over):
                return False
            found = self._probed(over)
            if found is None:
                return not over()
            trouble = found
        return False

    def _begin_trouble(self) -> None:
        now = time.monotonic()
        if self._since is None:
            self._batch = self._last_batch()
            self._since, self._since_shown, self._pause = now, time.strftime("%H:%M:%S"), _FIRST_PAUSE

    def _end_trouble(self) -> None:
        self._silent = False
        if self._since is not None:
            self._since = None
            self.tell("")

    def _say(self, trouble: str, pause: float) -> None:
        assert self._since is not None
        waited = time.monotonic() - self._since
        if self._patience is not None and waited + pause > self._patience:
            raise CheckpointError(
                "STORE_UNREACHABLE",
                f"The checkpoint store has failed for {waited:.0f} s, and execution.checkpointing.store.patience allows "
                f"{self._patience:g} s: {trouble}. The batch was not committed and nothing is lost: mend the store and resume "
                f"{self._folder}.",
            )
        words = f"waits for the checkpoint store since {self._since_shown}: {trouble}; tries again"
        self.tell(f"{words} every {self._most:g} s" if pause >= self._most else f"{words} in {pause:g} s")

    def _probed(self, over: Callable[[], bool]) -> str | None:
        """What the store says to a small file; None: it took it. One that never answers is waited for."""
        answer: list[str | None] = []
        probe = threading.Thread(target=lambda: answer.append(self._probe()), name="penstock-store-probe", daemon=True)
        probe.start()
        while probe.is_alive() and not over():
            probe.join(_POLL)
        return answer[0] if answer else None

    def _probe(self) -> str | None:
        jvm: Any = self._session._jvm
        name = os.path.join(self._folder, "spark", ".penstock-probe")
        try:
            if not is_reachable(self._folder):
                return f"{self._folder} is not there"
            path = jvm.org.apache.hadoop.fs.Path(name)
            system = path.getFileSystem(self._session._jsparkSession.sessionState().newHadoopConf())
            try:
                out = system.create(path, True)
                out.write(bytearray(_PROBE))
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

    def look(self, query: Any) -> None:
        """To be called now and then: whether batches still end, and what the one that does not end waits for."""
        now, batch = time.monotonic(), self._last_batch()
        if batch != self._batch:
            self._batch, self._moved = batch, now
            self._end_trouble()
            return
        if now - self._moved < self._slow or now < self._next_look:
            return
        self._next_look = now + _LOOK
        doing = self._doing(query.name) if query.isActive and query.status["isTriggerActive"] else None
        if doing is not None:
            self._begin_trouble()
            self._silent = True
            last = "the first batch" if batch < 0 else f"the batch after {batch}"
            self.tell(f"waits for the checkpoint store since {self._since_shown}: {doing} does not end, in {last}")
        elif self._silent:  # it waits for something else now
            self._end_trouble()

    def _doing(self, query: Any) -> str | None:
        """What threads of Spark's do at the store now; only those of the driver's process are seen."""
        jvm: Any = self._session._jvm
        try:
            threads = jvm.java.lang.Thread.getAllStackTraces()
            for entry in threads.entrySet():
                name = entry.getKey().getName()
                if not name.startswith(f"stream execution thread for {query}") and "task launch worker" not in name:
                    continue
                stack = "\n".join(frame.toString() for frame in entry.getValue())
                if _IN_STORE.search(stack):
                    doing = next((words for method, words in _DOING if method in stack), None)
                    if doing is not None:
                        return doing
        except Py4JError:  # Spark is gone: the job will tell
            return None
        return None


def stack_of(ended: BaseException) -> str:
    """The Java stack behind an error, with all its causes."""
    if isinstance(ended, CapturedException):
        cause = ended._cause
        return "\n".join(filter(None, (ended._desc, ended._stackTrace, stack_of(cause) if cause is not None else "")))
    if isinstance(ended, Py4JJavaError):
        return str(ended)
    return "" if ended.__cause__ is None else stack_of(ended.__cause__)


def _slept(seconds: float, over: Callable[[], bool]) -> bool:
    """Sleeps; False when the job is over before."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if over():
            return False
        time.sleep(min(_POLL, left))
    return True
