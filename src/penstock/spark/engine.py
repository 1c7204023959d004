"""Runs a job graph as one Structured Streaming query."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import current_timestamp, unix_millis
from pyspark.sql.streaming.query import StreamingQuery

from penstock import errors
from penstock.config import (
    BACKEND,
    BATCH_RECORDS,
    FOLD_RATIO,
    HEARTBEAT,
    LOCAL_DIR,
    LOCAL_KEEP,
    LOCAL_LIMIT,
    LOG_FRACTION,
    LOG_LEAST,
    MASTER,
    TRIGGER_INTERVAL,
    Configuration,
)
from penstock.connectors.sinks import CollectSink, PrintSink
from penstock.engine.program import Program, build
from penstock.engine.rescale import SlotState
from penstock.plan.graph import JobGraph
from penstock.spark.checkpoint import Checkpoint, open_checkpoint
from penstock.spark.control import PenstockControl
from penstock.spark.pickling import pickle_program
from penstock.spark.processor import ROW_SCHEMA, HostSettings, SlotProcessor
from penstock.spark.restore import write_initial
from penstock.spark.router import PenstockRouter
from penstock.spark.run_folder import RunFolder
from penstock.spark.session import cores_of, get_session, prepare
from penstock.spark.shipping import ship
from penstock.spark.sources import PenstockSource
from penstock.spark.statelog import FoldPolicy
from penstock.spark.working_copy import remove_unused

_POLL = 0.02


class SparkEngine:
    """The engine that `env.execute()` finds by its name."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return cores_of(configuration.get(MASTER)) or get_session(configuration).sparkContext.defaultParallelism

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobResult:
        job = SparkJob(graph, configuration, files)
        job.start()
        job.wait()
        return job.result()

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job = SparkJob(graph, configuration, files)
        job.start()
        return job.elements(len(graph.sinks) - 1)


class JobResult:
    """How a job ended."""

    def __init__(self, job_id: str, checkpoint: str, seconds: float, batches: list[dict[str, Any]]) -> None:
        self.job_id = job_id
        self.checkpoint = checkpoint
        self.seconds = seconds
        self.batches = batches  # one report each; `millis` is what Spark measured for the batch

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

    # -- the query

    def begin_with(self, slots: dict[tuple[int, int], SlotState], offsets: dict[str, Any]) -> None:
        """Starts a fresh checkpoint with the state of another one, and sources (by number, "control" too) at saved offsets."""
        write_initial(self.checkpoint.initial, slots)
        self._offsets = offsets

    def start(self) -> None:
        """Starts the query; gives at once."""
        configuration, program = self._configuration, self.program
        prepare(self.session, configuration, program.parallelism)
        self._admit()
        program.cached = self._backend() == "hashmap"
        data = pickle_program(program, ship(self.session, self._files))
        self.folder.create(
            self.run_id,
            data,
            {
                "run": self.run_id,
                "lasting": self.checkpoint.lasting,
                "heartbeat": configuration.get(HEARTBEAT),
                "keep_open": self.keep_open,
                "offsets": self._offsets,
            },
        )
        settings = self._settings()
        for source in (PenstockSource, PenstockControl, PenstockRouter):
            self.session.dataSource.register(source)
        rows = self._read("penstock_control")
        rows = reduce(
            DataFrame.unionByName, [self._read("penstock_source", source=str(s.number)) for s in program.sources], rows
        )
        for level in range(1, program.depth + 1):
            processor = SlotProcessor(self.run_id, data, level, program.parallelism, settings)
            timed = rows.withColumn("t", unix_millis(current_timestamp()))
            rows = timed.groupBy("slot").transformWithState(processor, ROW_SCHEMA, "Append", "None")
        self._began = time.monotonic()
        writer = rows.writeStream.format("penstock_router").option("folder", str(self.folder.path)).outputMode("append")
        writer = writer.option("checkpointLocation", self.checkpoint.spark).queryName(f"penstock-{self.run_id}")
        if interval := configuration.get(TRIGGER_INTERVAL):
            writer = writer.trigger(processingTime=f"{interval} milliseconds")
        self.query = writer.start()

    def _read(self, name: str, **options: str) -> DataFrame:
        return self.session.readStream.format(name).options(folder=str(self.folder.path), **options).load()

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

    def _settings(self) -> HostSettings:
        configuration = self._configuration
        root = configuration.get(LOCAL_DIR) or str(Path(tempfile.gettempdir(), "penstock-state"))
        remove_unused(root, configuration.get(LOCAL_KEEP))
        policy = FoldPolicy(
            configuration.get(LOG_FRACTION), configuration.get(LOG_LEAST), configuration.get(FOLD_RATIO)
        )
        folder, limit = f"{root}/{self.checkpoint.job_id}", configuration.get(LOCAL_LIMIT)
        return HostSettings(folder, limit, policy, self.checkpoint.materialized, self.checkpoint.initial)

    # -- until it ends

    def wait(self) -> None:
        """Until the job has ended; prints and collects what its sinks hand over meanwhile."""
        for _ in self.letters():
            pass

    def elements(self, sink: int) -> Iterator[Any]:
        """The elements that reach a collecting sink, as they come; stops the job when nobody asks for more."""
        for _, letters in self.letters():
            yield from letters.get(sink, ())
        self.result()

    def letters(self) -> Iterator[tuple[int, dict[int, list[Any]]]]:
        """What sinks hand over, by batch and sink, until the job has ended."""
        assert self.query is not None
        try:
            while True:
                ended = self.folder.finished() or not self.query.isActive
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
        if self.query is None:
            return
        self.query.stop()
        if self.session.streams.active:
            return  # other queries of the session run tasks of their own
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and running_tasks(self.session):
            time.sleep(_POLL)

    def result(self) -> JobResult:
        reports = self.folder.reports()
        assert self.query is not None
        spent = {p["batchId"]: p["durationMs"] for p in self.query.recentProgress}
        for report in reports:
            report["millis"] = spent.get(report["batch"], {})
        shutil.rmtree(self.folder.path, ignore_errors=True)
        return JobResult(self.checkpoint.job_id, self.checkpoint.folder, time.monotonic() - self._began, reports)


def running_tasks(session: SparkSession) -> int:
    """Tasks that executors still work on: after a query's end cancelled ones may go on writing for a while."""
    tracker = session.sparkContext._jsc.sc().statusTracker()
    return sum(info.numRunningTasks() for info in tracker.getExecutorInfos())


def in_our_words(failure: Any) -> Exception:
    """Our error out of Spark's stack, if one of ours is the cause."""
    text = str(failure)
    found = re.findall(r"penstock\.errors\.(\w+): \[(\w+)\] (.*)", text)
    if not found:
        python = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception): .*)$", text, re.MULTILINE)
        told = python[-1] if python else text.splitlines()[0]
        error: Exception = errors.JobError("JOB_FAILED", f"The job failed in Spark: {told[:500]}")
        error.__cause__ = failure if isinstance(failure, BaseException) else None
        return error
    name, code, message = found[-1]
    ours: Exception = getattr(errors, name)(code, message.strip())
    return ours
