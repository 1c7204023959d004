"""One job on Spark: its query, what its sinks hand over, and its end."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock import errors
from penstock.config import BACKEND, BATCH_RECORDS, HEARTBEAT, Configuration
from penstock.connectors.sinks import CollectSink, PrintSink
from penstock.engine.logs import pass_on
from penstock.engine.program import Program, build
from penstock.engine.reports import warn_of_unread
from penstock.engine.rescale import SlotState
from penstock.metrics import JobMetrics
from penstock.plan.graph import JobGraph
from penstock.spark.checkpoint import Checkpoint, open_checkpoint
from penstock.spark.failure import in_our_words
from penstock.spark.pickling import pickle_program
from penstock.spark.query import start_query, stop_query
from penstock.spark.restore import write_initial
from penstock.spark.run_folder import RunFolder
from penstock.spark.session import get_session
from penstock.spark.shipping import ship

_POLL = 0.02
_LOOK = 1.0


class JobResult:
    """How a job ended."""

    def __init__(
        self, job_id: str, checkpoint: str, seconds: float, batches: list[dict[str, Any]], metrics: JobMetrics
    ) -> None:
        self.job_id = job_id
        self.checkpoint = checkpoint
        self.seconds = seconds
        self.batches = batches  # one report each; `millis` is what Spark measured for the batch
        self.metrics = metrics  # of user functions

    def get_job_id(self) -> str:
        return self.job_id

    def get_net_runtime(self) -> int:
        return int(self.seconds * 1000)


class SparkJob:
    """One run of a job."""

    def __init__(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> None:
        self.program: Program = build(graph)
        self._configuration = configuration
        self._files = files
        self.session: SparkSession = get_session(configuration)
        self.checkpoint: Checkpoint = open_checkpoint(self.program, configuration)
        self.run_id = uuid.uuid4().hex
        self.folder = RunFolder(tempfile.mkdtemp(prefix="penstock-run-"))
        self.keep_open = False  # end a scripted job after its script, without the final watermark
        self.query: StreamingQuery | None = None
        self._began = 0.0
        self._collected: dict[int, list[Any]] = {}
        self._offsets: dict[str, Any] = {}
        self._next_look = 0.0
        self._warned: set[str] = set()

    # -- the query

    def begin_with(self, slots: dict[tuple[int, int], SlotState], offsets: dict[str, Any]) -> None:
        """Starts a fresh checkpoint with the state of another one, and sources (by number, "control" too) at saved offsets."""
        write_initial(self.checkpoint.initial, slots)
        self._offsets = offsets

    def start(self) -> None:
        """Starts the query; gives at once."""
        self.checkpoint.lock.acquire()
        try:
            self._start()
        except BaseException:
            self.checkpoint.lock.release()
            raise

    def _start(self) -> None:
        configuration, program = self._configuration, self.program
        self._admit()
        program.cached = self._backend() == "hashmap"
        facts = {
            "run": self.run_id,
            "lasting": self.checkpoint.lasting,
            "heartbeat": configuration.get(HEARTBEAT),
            "keep_open": self.keep_open,
            "offsets": self._offsets,
        }
        self.folder.create(self.run_id, pickle_program(program, ship(self.session, self._files)), facts)
        self._began = time.monotonic()
        self.query = start_query(self.session, program, self.checkpoint, self.folder, configuration)

    def _admit(self) -> None:
        """The configured admission limit, for sources that count records."""
        if limit := self._configuration.get(BATCH_RECORDS):
            for source in self.program.sources:
                if hasattr(source.source, "records_per_batch"):
                    source.source.records_per_batch = limit

    def _backend(self) -> str:
        backend: str = self._configuration.get(BACKEND)
        if backend not in ("lmdb", "hashmap"):
            raise errors.ConfigError("STATE_BACKEND", f"state.backend is '{backend}'; it must be lmdb or hashmap.")
        return backend

    # -- until it ends

    def wait(self) -> None:
        """Until the job has ended; prints and collects what its sinks hand over meanwhile."""
        for _ in self.letters():
            pass

    def elements(self, sink: int) -> Iterator[Any]:
        """The elements that reach a collecting sink, as they come; stops the job when nobody asks for more."""
        for _, letters in self.letters():
            yield from letters.get(sink, ())

    def letters(self) -> Iterator[tuple[int, dict[int, list[Any]]]]:
        """What sinks hand over, by batch and sink, until the job has ended."""
        assert self.query is not None
        try:
            while True:
                ended = self.folder.finished() or not self.query.isActive
                pass_on(self.folder.take_logs())
                self._look_after()
                for batch, letters in self.folder.mail():
                    self._deliver(letters)
                    yield batch, letters
                if ended:
                    break
                time.sleep(_POLL)
            failure = self.query.exception()
        finally:
            self.stop()
        if failure is not None:
            raise in_our_words(failure)

    def _look_after(self) -> None:
        """Now and then: whether the checkpoint is still ours, and whether dead letters are lost."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK
        if self.checkpoint.lock.lost:
            raise errors.CheckpointError(
                "CHECKPOINT_LOST",
                f"Another job has taken over the checkpoint {self.checkpoint.folder}, because this process gave no sign of life "
                "for a while. This job stops; what it committed before is in the checkpoint.",
            )
        warn_of_unread(self.folder.reports.totals()["unread"], self._warned)

    def _deliver(self, letters: dict[int, list[Any]]) -> None:
        for number, elements in letters.items():
            sink = self.program.sinks[number]
            if isinstance(sink, PrintSink):
                for element in elements:
                    print(f"{sink.prefix}{element}")
                sys.stdout.flush()
            elif isinstance(sink, CollectSink):
                self._collected.setdefault(number, []).extend(elements)

    def collected(self, sink: int) -> list[Any]:
        return self._collected.get(sink, [])

    def stop(self) -> None:
        """Stops the query and waits until no task of it writes any more."""
        if self.query is not None:
            stop_query(self.session, self.query)
        self.checkpoint.lock.release()

    def result(self) -> JobResult:
        """How the job ended; its run folder is gone then."""
        warn_of_unread(self.folder.reports.totals()["unread"], self._warned)
        reports = self.folder.reports.latest()
        assert self.query is not None
        spent = {p["batchId"]: p["durationMs"] for p in self.query.recentProgress}
        for report in reports:
            report["millis"] = spent.get(report["batch"], {})
        metrics, seconds = self.folder.metrics(), time.monotonic() - self._began
        self.forget()
        return JobResult(self.checkpoint.job_id, self.checkpoint.folder, seconds, reports, metrics)

    def forget(self) -> None:
        """Removes the run's folder."""
        shutil.rmtree(self.folder.path, ignore_errors=True)
