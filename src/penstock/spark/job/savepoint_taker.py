"""Takes the savepoints of a running job: asks for a batch, waits for the slots' files, and publishes the manifest last."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyspark

from penstock.config import CHECKPOINT_TIMEOUT, SAVEPOINT_DIR, Configuration
from penstock.connectors.file.system import FileSystem, absolute, file_system
from penstock.connectors.source import Source
from penstock.engine.frames import SavedPart
from penstock.engine.program import Program
from penstock.errors import CheckpointError, PenstockError, UnsupportedOperation
from penstock.jobs.process import ProcessName
from penstock.jobs.registry import registry_of
from penstock.jobs.savepoint_use import prune, retention_of
from penstock.jobs.savepoints import SavepointAnswer, SavepointRequest
from penstock.savepoints.collected import manifest_of
from penstock.savepoints.manifest import Manifest
from penstock.savepoints.part import Part
from penstock.savepoints.saved_job import JobFacts, saved_job
from penstock.savepoints.savepoint import publish
from penstock.spark.run_folder import AskedSavepoint, SavedBatch
from penstock.spark.spark_log import offsets_of

if TYPE_CHECKING:
    from penstock.spark.job import SparkJob

Tell = Callable[[SavepointAnswer], None]
_log = logging.getLogger("penstock.savepoints")
_POLL = 0.05
_LOOK = 0.25  # seconds between two looks for a file, which may be far away


class SavepointTaker:
    """Takes the savepoints of one job, one after the other, each in a thread of its own."""

    def __init__(self, job: SparkJob, configuration: Configuration) -> None:
        self._job = job
        self._configuration = configuration
        self._one = threading.Lock()

    def begin(self, request: SavepointRequest, tell: Tell) -> None:
        """Begins to take a savepoint; gives at once."""
        threading.Thread(
            target=self.take, args=(request, tell), name=f"penstock-savepoint-{request.id[:8]}", daemon=True
        ).start()

    def take(self, request: SavepointRequest, tell: Tell) -> None:
        """Takes a savepoint; `tell` hears how far it is, and how it ends."""
        answer = SavepointAnswer(request.id, end=request.end, asked=request.asked)
        tell(answer)
        with self._one:
            began = time.monotonic()
            taking = _Taking(self._job, self._configuration, request, answer, tell)
            try:
                taking.run()
                answer.status = "done"
            except PenstockError as error:
                answer.code, answer.error = error.code, error.text
            except Exception as error:
                answer.code, answer.error = "SAVEPOINT_FAILED", f"{type(error).__name__}: {error}"
            if answer.status != "done":
                answer.status = "failed"
                taking.clean_up()
            answer.seconds = round(time.monotonic() - began, 3)
            tell(answer)
            taking.let_go()
            if answer.status == "done":
                self._prune(answer.path)
            else:
                taking.clean_up_after_writers()

    def _prune(self, path: str) -> None:
        """Removes the job's oldest savepoints beside a new one, as its options say."""
        retention = retention_of(self._configuration)
        if retention.unbounded:
            return
        try:
            registry = registry_of(self._configuration)
            gone = prune(registry, os.path.dirname(path), retention, job=self._job.program.name)
        except Exception as error:  # the savepoint is there; what is too much is removed another time
            _log.warning("Old savepoints beside %s cannot be removed: %s", path, error)
            return
        for savepoint, reason in gone:
            _log.info("Savepoint %s was removed: %s", savepoint.path, reason)


class _Taking:
    """One savepoint."""

    def __init__(
        self,
        job: SparkJob,
        configuration: Configuration,
        request: SavepointRequest,
        answer: SavepointAnswer,
        tell: Tell,
    ) -> None:
        self._job = job
        self._folder = job.folder
        self._request = request
        self._answer = answer
        self._tell = tell
        directory = request.directory or configuration.get(SAVEPOINT_DIR) or default_directory(job.checkpoint.folder)
        self._path = f"{absolute(directory).rstrip('/')}/savepoint-{job.job_id[:6]}-{request.id}"
        self._system: FileSystem | None = None
        self._patience = configuration.get(CHECKPOINT_TIMEOUT) / 1000
        self._deadline = time.monotonic() + self._patience
        self._parts: list[SavedPart] = []

    def run(self) -> None:
        refuse(self._job.program, self._job.real_time)
        self._must_run()
        self._answer.path = self._path
        self._system = self._writable()
        self._folder.ask_savepoint(AskedSavepoint(self._request.id, self._path, self._request.end))
        self._say("taking")
        saved = self._saved_batch()
        self._parts = saved.parts
        self._answer.batch, self._answer.parts = saved.batch, len(saved.parts)
        self._say("writing")
        parts = [self._written(part) for part in saved.parts]
        manifest = self._manifest(saved, parts)
        publish(self._path, manifest)
        for part in saved.parts:
            self._system.remove(f"{self._path}/{part.name}.json")
        self._remove_others({file.name for file in manifest.files})

    def _say(self, status: Any) -> None:
        self._answer.status = status
        self._tell(self._answer)

    def _writable(self) -> FileSystem:
        """Asks for nothing before it is known that there is a place for it."""
        try:
            system = file_system(self._path)
            probe = system.create(f"{self._path}/_probe")
            probe.write(b"penstock")
            system.close(probe)
            system.remove(f"{self._path}/_probe")
        except OSError as error:
            raise CheckpointError(
                "SAVEPOINT_UNWRITABLE",
                f"The savepoint {self._path} cannot be written: {error}. The job goes on. Give another path, or set "
                f"{SAVEPOINT_DIR.key}.",
            ) from error
        return system

    def _saved_batch(self) -> SavedBatch:
        """Waits until the savepoint's batch is committed."""
        while True:
            saved = self._folder.saved(self._request.id)
            if saved is not None and Path(self._job.checkpoint.spark, "commits", str(saved.batch)).exists():
                return self._folder.saved(self._request.id) or saved
            self._wait("its batch is not committed", _POLL)

    def _written(self, part: SavedPart) -> Part:
        """Waits until a slot's file is there."""
        if part.error:
            raise _failed(part, part.error)
        assert self._system is not None
        note = f"{self._path}/{part.name}.json"
        process = ProcessName(part.host, part.pid, part.started)
        while True:
            ended = process.is_here and not process.is_alive()
            if self._system.find(note) is not None:
                break
            if ended:
                raise _failed(part, self._folder.failure_of_part(part.name) or "the process that wrote it was killed")
            self._wait(f"file {part.name} is not there", _LOOK)
        file = self._system.open(note)
        try:
            written = msgspec.json.decode(file.read(), type=Part)
        finally:
            file.close()
        self._answer.written += 1
        self._answer.bytes += written.file.size
        self._answer.entries += written.file.entries
        self._tell(self._answer)
        return written

    def _must_run(self) -> None:
        if self._job.status().is_terminal_state():
            raise CheckpointError(
                "SAVEPOINT_JOB_ENDED",
                f"Job {self._job.job_id} ended before the savepoint was whole. Nothing was left of it.",
            )

    def _wait(self, why: str, seconds: float) -> None:
        self._must_run()
        if time.monotonic() > self._deadline:
            raise CheckpointError(
                "SAVEPOINT_EXPIRED",
                f"The savepoint was not there after {self._patience:.0f} s: {why}. The job goes on. "
                f"Raise {CHECKPOINT_TIMEOUT.key}, or ask again when the job has less to do.",
            )
        time.sleep(seconds)

    def _manifest(self, saved: SavedBatch, parts: list[Part]) -> Manifest:
        job, program = self._job, self._job.program
        control, *offsets = offsets_of(job.checkpoint.folder, saved.batch)
        positions = {
            s.number: self._position(s.number, s.source, offset)
            for s, offset in zip(program.sources, offsets, strict=True)
        }
        described = saved_job(program, positions)
        for number, sink in enumerate(described.sinks):
            sink.memory = saved.sinks.get(number)
        facts = JobFacts(
            job.job_id,
            saved.batch,
            control,
            ended=self._request.end,
            lineage=job.checkpoint.lineage,
            checkpoint=job.checkpoint.folder,
            from_savepoint=job.checkpoint.from_savepoint,
            spark=pyspark.__version__,
            id=self._request.id,
        )
        return manifest_of(described, parts, facts)

    def _position(self, number: int, source: Source, offset: Any) -> Any:
        if offset is None:
            return None
        told = self._folder.position(number, offset)
        if told is None and type(source).position is not Source.position:
            raise CheckpointError(
                "SAVEPOINT_POSITION",
                f"Source {number} ({type(source).__name__}) did not say where another run can go on from {offset}. Ask again.",
            )
        return offset if told is None else told

    def _remove_others(self, named: set[str]) -> None:
        """What an attempt left whose batch ran again."""
        assert self._system is not None
        for name in self._system.names(self._path):
            if name not in named and name[:1].isdigit():
                self._system.remove(f"{self._path}/{name}")

    def clean_up(self) -> None:
        """Leaves nothing of a savepoint that failed."""
        if self._system is not None:
            self._system.remove_folder(self._path)

    def clean_up_after_writers(self) -> None:
        """The same again, when those who still wrote have ended."""
        for part in self._parts:
            process = ProcessName(part.host, part.pid, part.started)
            while process.is_here and process.is_alive():
                time.sleep(_LOOK)
        self.clean_up()

    def let_go(self) -> None:
        """The job goes on, or ends when that was asked for: one whose savepoint failed goes on where it can."""
        end, done = self._request.end, self._answer.status == "done"
        if (end and done) or (end == "drain" and self._answer.batch >= 0):
            self._folder.ask_stop(
                drain=end == "drain"
            )  # first: sources are to give nothing behind the savepoint's batch
        self._folder.forget_savepoint()
        if end == "stop" and done:
            self._folder.tell_finished(-1)


def _failed(part: SavedPart, why: str) -> CheckpointError:
    level, slot, _ = part.name.split("-")
    return CheckpointError(
        "SAVEPOINT_PART",
        f"The state of slot {slot} of level {level} was not written: {why}. The job goes on; ask again.",
    )


def refuse(program: Program, real_time: bool) -> None:
    """Says why a job has no savepoints, if it cannot."""
    if program.batch or real_time:
        mode = "in batch mode" if program.batch else "in Spark's real-time mode, without state of Penstock's"
        raise UnsupportedOperation("SAVEPOINTS", f"Job '{program.name}' runs {mode}: it has no savepoints.")
    native = [s.name for s in program.sources if s.source.native]
    if native:
        raise UnsupportedOperation(
            "SAVEPOINTS",
            f"Source '{native[0]}' is a streaming DataFrame, which Spark reads by itself: a new checkpoint cannot begin at its "
            "position. Use a source of Penstock's own, or resume the job from its checkpoint.",
        )


def default_directory(checkpoint: str) -> str:
    """Where savepoints go when nobody says where: beside the checkpoints."""
    return f"{Path(checkpoint).parent}/savepoints"
