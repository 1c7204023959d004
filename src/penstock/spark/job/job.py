"""One job on Spark: its query, what its sinks hand over, its restarts, and its end."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import BACKEND, BATCH_RECORDS, CANCEL_TIMEOUT, CHECKPOINT_RETENTION, HEARTBEAT, Configuration
from penstock.connectors.sinks import CollectSink, PrintSink
from penstock.datastream.job_result import JobExecutionResult
from penstock.datastream.job_status import JobStatus
from penstock.engine.logs import pass_on
from penstock.engine.program import Program, build
from penstock.engine.reports import warn_of_unread
from penstock.engine.sink_calls import calling_sink
from penstock.errors import CheckpointError, JobError
from penstock.jobs.run import Run
from penstock.jobs.savepoints import End, SavepointAnswer, new_request
from penstock.metrics.labels import labels
from penstock.plan.graph import JobGraph
from penstock.spark.batch_query import BatchPlan, BatchQuery, lean
from penstock.spark.bridge import put_tables_aside
from penstock.spark.checkpoint import Checkpoint, open_checkpoint
from penstock.spark.failure import in_our_words
from penstock.spark.handover import Handover, needs_handover
from penstock.spark.mending import Repeats, mend
from penstock.spark.pacing import Pacing
from penstock.spark.pickling import pickle_program
from penstock.spark.private_folder import private_folder, remove_private_folder
from penstock.spark.query import start_query, stop_query
from penstock.spark.real_time import in_real_time, start_in_real_time
from penstock.spark.registration import WatchedJob, ends, ends_if_it_fails, register
from penstock.spark.restarts import can_pass, restarts_of
from penstock.spark.restoring import initial_offsets, restoring
from penstock.spark.run_folder import RunFolder
from penstock.spark.savepoint_taker import SavepointTaker
from penstock.spark.session import get_session
from penstock.spark.shipping import ship
from penstock.spark.store_watch import StoreWatch
from penstock.spark.tolerance import Tolerance
from penstock.spark.unfinished import unfinished_batch

_POLL = 0.02
_LOOK = 1.0
_MOST_MENDED = 3  # times that a checkpoint is put right in one run
_log = logging.getLogger("penstock.job")

Letters = dict[int, list[Any]]  # by sink


class SparkJob:
    """One job, from its start to its end. It may take several attempts: each is a query on the same checkpoint.

    A batch job has no checkpoint: each attempt is the whole job.
    """

    def __init__(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> None:
        self.real_time = in_real_time(graph, configuration)
        self.program: Program = build(graph)
        self._configuration = configuration
        self._files = files
        self._restarts = restarts_of(configuration)
        self.session: SparkSession = get_session(configuration)
        self._restoring = restoring(self.program, configuration)
        self.checkpoint: Checkpoint = open_checkpoint(self.program, configuration, self._restoring)
        self.folder = RunFolder(private_folder("penstock-run-"))
        self.savepoints = SavepointTaker(self, configuration)
        self.keep_open = False  # end a scripted job after its script, without the final watermark
        self.query: StreamingQuery | BatchQuery | None = None
        self.run: Run | None = None  # what the registry knows of it
        self.attempt = 0
        self.pacing = Pacing(configuration)
        self._tolerance = Tolerance(configuration)
        self.finished: Future[JobExecutionResult] = Future()  # of a job that runs in the background
        self._status = JobStatus.CREATED
        self._cancel = threading.Event()
        self._over = threading.Event()
        self._began = 0.0
        self._archives: list[str] = []
        self._offsets: dict[str, Any] = initial_offsets(self.checkpoint)
        self._delivered = -1  # the last batch whose letters were delivered: one that runs again hands them over again
        self._collected: dict[int, list[Any]] = {}
        self._accumulators: dict[str, Any] | None = None
        self._handover: Handover | None = None
        self._next_look = 0.0
        self._repeats = Repeats(self.checkpoint.folder)
        self._repeating = False  # this attempt is one batch of a damaged checkpoint that went back
        self._mended = 0
        self._store = StoreWatch(self.session, self.checkpoint.folder, configuration, self._last_batch)
        self._warned: set[str] = set()

    @property
    def job_id(self) -> str:
        return self.checkpoint.job_id

    def status(self) -> JobStatus:
        return self._status

    # -- attempts

    def start(self) -> None:
        """Registers the run and starts the first attempt; gives at once."""
        if limit := self._configuration.get(BATCH_RECORDS):
            for source in self.program.sources:
                if source.source.records_per_batch is not None:
                    source.source.records_per_batch = limit
        self.program.cached = self._configuration.get(BACKEND) == "hashmap"
        self.checkpoint.lock.acquire()
        try:  # only who holds the checkpoint may write into it, and write the registry's entry of the job
            self._attach_sinks()
            self.run = register(self.session, self.program, self.checkpoint, self._configuration)
            self._tell_restoring()
            with ends_if_it_fails(self.run):
                put_tables_aside(self.session, self.program, self.checkpoint)
                self._archives = ship(self.session, self._files)
                self._began = time.monotonic()
                if self.checkpoint.resumed and not self.real_time:
                    self._mend(deep=False)
                with self._store.telling():
                    self._start_attempt()
        except BaseException:
            self.checkpoint.lock.release()
            raise
        self._store.tell = self._tell_wait
        self.run.begin(WatchedJob(self))

    def _attach_sinks(self) -> None:
        for uid, sink in zip(self.program.sink_uids, self.program.sinks, strict=True):
            sink.attach(self.checkpoint.memory_of_sink(uid))
            if self._restoring is not None and uid in self._restoring.matched.sinks:
                sink.restore(self._restoring.matched.sinks[uid])

    def _tell_restoring(self) -> None:
        if self._restoring is not None:
            assert self.run is not None
            for word in self._restoring.words():
                self.run.note(f"job {self.job_id}: {word}")
            self._restoring.tell()

    def _start_attempt(self) -> None:
        """A run of its own name: workers open their functions anew, and the control source tells of the change."""
        run = uuid.uuid4().hex
        self.program.attempt = self.attempt
        self._repeating = not self.program.batch and not self.real_time and self._repeats.pending()
        if self._repeating:
            self._repeats.prepare()
        facts = {
            "run": run,
            "repeating": self._repeating,
            "checkpoint": self.checkpoint.folder,
            "lasting": self.checkpoint.lasting,
            "heartbeat": self._configuration.get(HEARTBEAT),
            "keep_open": self.keep_open,
            "offsets": self._offsets,
            "lineage": self.checkpoint.lineage,
            "unfinished": unfinished_batch(self.checkpoint.spark),
            "paced": self.pacing.wanted,
        }
        self.folder.tell_pause(self.pacing.pause)
        if needs_handover(self.program) and not self.real_time:
            self._handover = Handover(self.session, self.program, str(self.folder.path), run)
        if self.program.batch:
            self.folder.create(run, pickle_program(lean(self.program), self._archives), facts)
            self.query = self._batch_plan().start(run)
        elif self.real_time:
            self.folder.create(run, b"", facts)
            self.query = start_in_real_time(self.session, self.program, self.checkpoint, run, self._configuration)
        else:
            self.folder.create(run, pickle_program(self.program, self._archives), facts)
            self.query = start_query(
                self.session, self.program, self.checkpoint, self.folder, self._configuration, self._repeating
            )
        if not self._cancel.is_set():
            self._status = JobStatus.RUNNING

    def _batch_plan(self) -> BatchPlan:
        return BatchPlan(
            self.session, self.program, self.checkpoint, self.folder, self._configuration, self._archives, self._wait
        )

    def _wait(self) -> None:
        """For a source that has nothing yet."""
        if self._cancel.wait(_POLL):
            raise self._canceled()

    def _restart(self, ended: Exception) -> None:
        """Starts the next attempt, when the store was at fault or the strategy says so; else raises what went wrong."""
        failure = in_our_words(ended)
        if self._goes_back(ended):
            return
        trouble = self._store.trouble_of(ended) or self._store.trouble_of(failure)
        if trouble is not None and not self.program.batch:
            assert self.run is not None
            self.run.checkpoint_failed(trouble)
            if self._tolerance.tolerates(self._last_batch()):
                self._outlast(trouble)
                return
            failure = self._tolerance.exceeded(trouble)
        delay = self._restarts.delay_after_failure(time.monotonic() * 1000) if can_pass(failure) else None
        if delay is None:
            raise failure
        self._status = JobStatus.RESTARTING
        _log.warning("Job %s failed and is restarted in %.1f s: %s", self.job_id, delay / 1000, failure)
        assert self.run is not None
        if trouble is None:
            self.run.checkpoint_failed(str(failure))
        self.run.note(f"job {self.job_id}: failed and is restarted in {delay / 1000:.1f} s: {failure}")
        if not self._stop_query():
            raise failure  # a task of this attempt could still write into the next one's files
        if not self._cancel.wait(delay / 1000):
            self.attempt += 1
            self._start_attempt()

    def _goes_back(self, ended: Exception) -> bool:
        """Whether the query ended because of a damaged file, and the next attempt goes on from before the damage."""
        if self.real_time or self._store.damage_of(ended) is None or self._mended >= _MOST_MENDED:
            return False
        if not self._stop_query() or not self._mend(deep=True):
            return False
        self.attempt += 1
        self._start_attempt()
        return True

    def _mend(self, deep: bool) -> bool:
        """Puts a damaged checkpoint right, and tells what that means; False when no damage is found."""
        mended = mend(self.checkpoint.folder, deep)
        if mended is None:
            return False
        self._mended += 1
        assert self.run is not None
        self.run.tell(mended.words)
        return True

    def _outlast(self, trouble: str | None) -> None:
        """Waits until the checkpoint store is back, then starts the next attempt: it is no failure of the job."""
        while trouble is not None:
            self._status = JobStatus.RESTARTING
            while not self._stop_query() and not self._is_over():  # a call of the store may hang
                pass
            if not self._store.wait(trouble, self._is_over):
                return
            self.attempt += 1
            try:
                self._start_attempt()
                trouble = None
            except Exception as error:
                trouble = self._store.trouble_of(error)
                if trouble is None:
                    raise

    def _is_over(self) -> bool:
        return self._cancel.is_set() or self.folder.finished()

    def _last_batch(self) -> int:
        """The last one whose output the sinks took in this run."""
        report = self.folder.report()
        return -1 if report is None else int(report["batch"])

    def _tell_wait(self, words: str) -> None:
        assert self.run is not None
        self.run.waits(words)

    # -- until it ends

    def wait(self) -> None:
        """Until the job has ended; prints and collects what its sinks hand over meanwhile."""
        for _ in self.letters():
            pass

    def elements(self, sink: int) -> Iterator[Any]:
        """The elements that reach a collecting sink, as they come; stops the job when nobody asks for more."""
        for _, letters in self.letters():
            yield from letters.get(sink, ())

    def letters(self) -> Iterator[tuple[int, Letters]]:
        """What sinks hand over, by batch and sink, until the job has ended."""
        assert self.run is not None
        with ends(self.run):
            yield from self._letters()

    def _letters(self) -> Iterator[tuple[int, Letters]]:
        ended_as = JobStatus.CANCELED  # also when nobody asks for more
        try:
            while not self._cancel.is_set():
                yield from self._letters_of_attempt()
                if self.folder.finished():
                    self._finish_sinks()
                    ended_as = JobStatus.FINISHED
                    break
                assert self.query is not None
                failure = self.query.exception()
                if failure is None and self._repeating:
                    self._start_attempt()  # the next of the batches that are repeated, or the first that is not
                    continue
                if failure is None:
                    break
                self._restart(failure)
            if ended_as is JobStatus.CANCELED:
                raise self._canceled()
        except Exception:
            if not self._cancel.is_set() and ended_as is not JobStatus.FINISHED:
                ended_as = JobStatus.FAILED
            raise
        finally:
            self.stop()
            self._end(ended_as)

    def _finish_sinks(self) -> None:
        """Nothing more will be written. A job that is kept open goes on from its checkpoint."""
        if self.keep_open:
            return
        last = self._delivered
        for number, sink in enumerate(self.program.sinks):
            with calling_sink(self.program, number, last):
                sink.finish()

    def _canceled(self) -> JobError:
        left = (
            f"Its state is as of its last committed batch; its checkpoint: {self.checkpoint.folder}"
            if self.checkpoint.kept
            else "It ran in batch mode, so nothing of it was committed."
        )
        return JobError("JOB_CANCELED", f"Job {self.job_id} was cancelled. {left}")

    def _letters_of_attempt(self) -> Iterator[tuple[int, Letters]]:
        assert self.query is not None
        while True:
            ended = self.folder.finished() or not self.query.isActive or self._cancel.is_set()
            self._tell_logs()
            self._look_after()
            for batch, letters in self.folder.mail():
                if batch > self._delivered:
                    self._delivered = batch
                    self._deliver(letters)
                    yield batch, letters
            if ended:
                return
            time.sleep(_POLL)

    def _tell_logs(self) -> None:
        """What functions logged goes to the job's log and to this program's loggers."""
        if lines := self.folder.take_logs():
            assert self.run is not None
            self.run.note("\n".join(f"{logging.getLevelName(x.level)} {x.logger} {x}" for x in lines))
            pass_on(lines)

    def _look_after(self) -> None:
        """Now and then: whether the checkpoint is still ours, and whether dead letters are lost."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK
        if self.checkpoint.lock.lost:
            raise CheckpointError(
                "CHECKPOINT_LOST",
                f"Another job has taken over the checkpoint {self.checkpoint.folder}, because this process gave no sign of life "
                "for a while. This job stops; what it committed before is in the checkpoint.",
            )
        warn_of_unread(self.folder.reports.totals()["unread"], self._warned)
        if isinstance(self.query, StreamingQuery):
            self._store.look(self.query)

    def _deliver(self, letters: Letters) -> None:
        for number, elements in letters.items():
            sink = self.program.sinks[number]
            if isinstance(sink, PrintSink):
                for element in elements:
                    print(sink.line(element))
                sys.stdout.flush()
            elif isinstance(sink, CollectSink):
                self._collected.setdefault(number, []).extend(elements)

    def collected(self, sink: int) -> list[Any]:
        return self._collected.get(sink, [])

    def stop(self) -> None:
        """Stops the query and waits until no task of it writes any more; the checkpoint is free then."""
        self._stop_query()
        self.checkpoint.lock.release()

    def _stop_query(self) -> bool:
        """False: tasks of it still run."""
        patience = self._configuration.get(CANCEL_TIMEOUT) / 1000
        if self._handover is not None and not self._handover.stop(patience):
            return False
        return self.query is None or stop_query(self.session, self.query, patience)

    def cancel(self) -> None:
        """Ends the job from another thread and waits until it has ended. One that is over stays as it is."""
        if self._status.is_terminal_state():
            return
        self._status = JobStatus.CANCELLING
        self._cancel.set()
        self._stop_query()
        self._over.wait(self._configuration.get(CANCEL_TIMEOUT) / 1000 or None)

    def savepoint(self, directory: str = "", end: End = "") -> str:
        """Takes a savepoint and waits until it is there; gives its path. With `end` the job ends with it."""
        over: Future[str] = Future()

        def heard(answer: SavepointAnswer) -> None:
            if answer.status == "done":
                over.set_result(answer.path)
            elif answer.status == "failed":
                over.set_exception(CheckpointError(answer.code, answer.error))

        assert self.run is not None
        self.run.save(new_request(directory, end), heard)
        return over.result()

    def _end(self, status: JobStatus) -> None:
        self._accumulators = self._counted()
        self._status = status
        kept = self._configuration.get(CHECKPOINT_RETENTION) if self.checkpoint.kept else "NO_EXTERNALIZED_CHECKPOINTS"
        if kept == "NO_EXTERNALIZED_CHECKPOINTS" or (kept == "DELETE_ON_CANCELLATION" and status is JobStatus.CANCELED):
            shutil.rmtree(self.checkpoint.folder, ignore_errors=True)
        self._over.set()

    # -- what it came to

    def accumulators(self) -> dict[str, Any]:
        """What was counted so far, as `operator.metric`: under Flink's names of metrics, and what functions measured."""
        return self._counted() if self._accumulators is None else self._accumulators

    def _counted(self) -> dict[str, Any]:
        program, totals = self.program, self.folder.reports.totals()
        called = labels({uid: name for _, uid, name in program.parts()})
        counts = [
            *((program.sources[int(n)].uid, "numRecordsOut", count) for n, count in totals["read"].items()),
            *((uid, "numRecordsIn", count) for uid, count in totals["records"].items()),
            *((uid, "numLateRecordsDropped", count) for uid, count in totals["late"].items()),
            *((program.sink_uids[int(n)], "numRecordsIn", count) for n, count in totals["outputs"].items()),
        ]
        found = {f"{called.get(uid, uid)}.{metric}": count for uid, metric, count in counts}
        return {**found, **self.folder.metrics().accumulators(called)}

    def result(self) -> JobExecutionResult:
        """How the job ended; its run folder is gone then."""
        result = self._result()
        self.forget()
        return result

    def _result(self) -> JobExecutionResult:
        warn_of_unread(self.folder.reports.totals()["unread"], self._warned)
        reports = self.folder.reports.latest()
        assert self.query is not None
        spent = {p["batchId"]: p["durationMs"] for p in self.query.recentProgress}
        for report in reports:
            report["millis"] = spent.get(report["batch"], {})
        return JobExecutionResult(
            self.job_id,
            self.checkpoint.shown,
            time.monotonic() - self._began,
            reports,
            self.accumulators(),
            self.folder.metrics(),
            self.attempt + 1,
        )

    def forget(self) -> None:
        """Removes the run's folder."""
        remove_private_folder(self.folder.path)

    # -- in the background

    def run_in_background(self) -> None:
        """Looks after the started job in a thread; `finished` tells how it ends."""
        threading.Thread(target=self._run, name=f"penstock-job-{self.job_id[:8]}", daemon=True).start()

    def _run(self) -> None:
        try:
            self.wait()
            result = self._result()
        except BaseException as error:
            self.finished.set_exception(error)
        else:
            self.finished.set_result(result)
        self.forget()  # who waits for the end may still read the reports
