"""Batches that the program itself commits: the sinks' commit asks for it through the run's folder, and waits for the answer.

Commits run in a process beside the driver that has no Spark session. The program has one, and the function with all that it
knows. Requests and answers are small files that appear as a whole.
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

from penstock.connectors.dataframe import ForeachBatchSink
from penstock.engine.program import Program
from penstock.engine.sink_calls import calling_sink
from penstock.errors import JobError
from penstock.jobs.whole_file import write_whole
from penstock.spark.failure import CarriedError, carrying
from penstock.spark.session import make_active

_POLL = 0.005
_CANCEL_EVERY = 0.2


class _Request(msgspec.Struct):
    """Files of a sink's batch."""

    batch: int
    sink: int
    files: list[str]


def hand_over(run_folder: str, run: str, batch: int, sink: int, files: list[str]) -> None:
    """Asks the program to commit a batch; returns when it has, raises what went wrong there."""
    if not files:
        return
    folder = _folder(run_folder, run)
    name = f"{batch:012d}-{sink:05d}"
    try:
        request = msgspec.json.encode(_Request(batch, sink, files))
        write_whole(folder / "requests" / name, request, beside=folder)
        while not (folder / "answers" / name).exists():
            folder.stat()  # raises when the attempt is over
            time.sleep(_POLL)
        error = (folder / "answers" / name).read_bytes()
    except FileNotFoundError:
        raise JobError("JOB_CANCELED", f"The job ended before batch {batch} was handed over.") from None
    if error:
        raise CarriedError(error.decode())


def _folder(run_folder: str, run: str) -> Path:
    """Of one attempt: what is left of an earlier one hears nothing of this one's answers."""
    return Path(run_folder, f"handover-{run}")


class Handover:
    """The program's side: a thread that answers while an attempt of the job runs."""

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
        """No further batch is handed over; one that is being written is cancelled, and waited for.

        False: the function goes on after so many seconds; with 0 it is waited for as long as it takes.
        """
        self._over.set()
        deadline = time.monotonic() + patience
        while self._thread.is_alive():
            if patience and time.monotonic() > deadline:
                return False
            self._session.sparkContext.cancelJobGroup(self._group)
            self._thread.join(_CANCEL_EVERY)
        shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def _run(self) -> None:
        make_active(self._session)
        while not self._over.wait(_POLL):
            for file in sorted((self._folder / "requests").iterdir()):
                self._answer(file)

    def _answer(self, file: Path) -> None:
        request = msgspec.json.decode(file.read_bytes(), type=_Request)
        file.unlink()
        error = b""
        try:
            with carrying(), calling_sink(self._program, request.sink, request.batch):
                self._hand(request)
        except CarriedError as told:
            error = str(told).encode()
        write_whole(self._folder / "answers" / file.name, error, beside=self._folder)

    def _hand(self, request: _Request) -> None:
        sink: Any = self._program.sinks[request.sink]
        assert isinstance(sink, ForeachBatchSink)
        session = self._session
        session.sparkContext.setJobGroup(self._group, f"batch {request.batch} of {sink!r}", interruptOnCancel=True)
        files = [Path(file).as_uri() for file in request.files]
        frame = session.read.schema(from_arrow_schema(sink.schema)).parquet(*files)
        sink.call(frame, request.batch)
        sink.forget(request.batch)


def needs_handover(program: Program) -> bool:
    return any(sink.commits_in_program for sink in program.sinks)
