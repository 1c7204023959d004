"""Commits of sinks that need the Spark session of the driver, such as foreach_batch.

Spark runs commits in a process beside the driver, which has no Spark session. That process writes a request into the run
folder and waits for the answer of the driver. Requests and answers are small files that are written in one step.
"""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.atomic_file import write_atomic
from penstock.connectors.dataframe import ForeachBatchSink
from penstock.engine.program.program import Program
from penstock.engine.program.sink_calls import sink_call
from penstock.errors import JobError
from penstock.spark.session.error_transport import TransportedError, wrap_errors
from penstock.spark.session.session import activate_session

_POLL = 0.005
_CANCEL_INTERVAL = 0.2


class _Request(msgspec.Struct):
    """Asks the driver to commit the files of one batch of a sink."""

    batch: int
    sink: int
    files: list[str]


def request_commit(run_folder: str, run: str, batch: int, sink: int, files: list[str]) -> None:
    """Asks the driver to commit a batch. Returns when it has, and raises its error if it fails."""
    if not files:
        return
    folder = _folder(run_folder, run)
    name = f"{batch:012d}-{sink:05d}"
    try:
        request = msgspec.json.encode(_Request(batch, sink, files))
        write_atomic(folder / "requests" / name, request, staging_folder=folder, durable=False)
        while not (folder / "answers" / name).exists():
            folder.stat()  # raises when the attempt is over
            time.sleep(_POLL)
        error = (folder / "answers" / name).read_bytes()
    except FileNotFoundError:
        raise JobError("JOB_CANCELED", f"The job ended before batch {batch} was committed on the driver.") from None
    if error:
        raise TransportedError(error.decode())


def _folder(run_folder: str, run: str) -> Path:
    """Each attempt has its own folder, so that processes of an earlier attempt do not read its answers."""
    return Path(run_folder, f"handover-{run}")


class DriverCommits:
    """Answers requests in a thread of the driver, while an attempt of the job runs."""

    def __init__(self, session: SparkSession, program: Program, run_folder: str, run: str) -> None:
        self._session = session
        self._program = program
        self._folder = _folder(run_folder, run)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-handover", daemon=True)
        self._group = f"penstock-handover-{run}"
        for name in ("requests", "answers"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self, patience: float) -> bool:
        """Accepts no further batch, cancels a running one and waits for its end.

        Returns False if the function still runs after `patience` seconds. With 0 there is no limit.
        """
        self._over.set()
        deadline = time.monotonic() + patience
        while self._thread.is_alive():
            if patience and time.monotonic() > deadline:
                return False
            self._session.sparkContext.cancelJobGroup(self._group)
            self._thread.join(_CANCEL_INTERVAL)
        shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def _run(self) -> None:
        activate_session(self._session)
        while not self._over.wait(_POLL):
            for file in sorted((self._folder / "requests").iterdir()):
                self._answer(file)

    def _answer(self, file: Path) -> None:
        request = msgspec.json.decode(file.read_bytes(), type=_Request)
        file.unlink()
        error = b""
        try:
            with wrap_errors(), sink_call(self._program, request.sink, request.batch):
                self._commit(request)
        except TransportedError as failure:
            error = str(failure).encode()
        write_atomic(self._folder / "answers" / file.name, error, staging_folder=self._folder, durable=False)

    def _commit(self, request: _Request) -> None:
        sink: Any = self._program.sinks[request.sink]
        assert isinstance(sink, ForeachBatchSink)
        session = self._session
        session.sparkContext.setJobGroup(self._group, f"batch {request.batch} of {sink!r}", interruptOnCancel=True)
        files = [Path(file).as_uri() for file in request.files]
        frame = session.read.schema(sink.spark_schema or from_arrow_schema(sink.schema)).parquet(*files)
        sink.call(frame, request.batch)
        sink.forget(request.batch)


def commits_on_driver(program: Program) -> bool:
    return any(sink.commits_in_program for sink in program.sinks)
