"""The harness: a pipeline in this process, with a manual clock, fed and looked at by a test."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from types import TracebackType
from typing import Any

import msgspec

from penstock.config import BACKEND, RUNTIME_MODE
from penstock.connectors.scripted import At, Mark, Step
from penstock.connectors.source import Offset
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.engine.frames import Control, Marks
from penstock.engine.logs import LogLine
from penstock.engine.program import build
from penstock.errors import PlanError
from penstock.functions import OutputTag
from penstock.metrics import JobMetrics
from penstock.savepoints.savepoint import open_savepoint
from penstock.testing.collected import Collected
from penstock.testing.local import LocalJob, Planned
from penstock.testing.push import Inbox, Item
from penstock.testing.reading import SourceReader
from penstock.testing.splits import FIRST_SPLIT, KnownSplits
from penstock.testing.watched import WatchedPipeline

_PUSHED = "pushed"  # in a source's saved position: how many elements a test has pushed to each split


class _Snapshot(msgspec.Struct, frozen=True):
    """All that a harness knows between two batches, but for what it has collected and for the run (time.md 10.1)."""

    job: bytes
    time: int
    positions: list[tuple[int, str, int]]
    known: dict[int, list[str]]
    offsets: list[Offset] | None  # of sources that were read


@dataclass(slots=True)
class _Started:
    """What there is from the first batch on."""

    job: LocalJob
    outputs: list[Collected]


class Harness:
    """Runs a pipeline without Spark: the same operators, state in memory, and a clock that the test sets.

    Each push, watermark, change of time or end is a batch of its own, unless it stands in ``with harness.batch():``.
    A pipeline needs no sink: `collect` looks at any stream. The pipeline's own sinks are not written to, only
    collected, unless `real_sinks` is set. Functions are pickled as on Spark, so a test sees only what they emit. Blobs
    reach operators in an order drawn from `seed`, as on a cluster; results do not depend on it. In batch mode (the
    environment's, or `batch_mode`) all input is one batch, which runs at `end`.

    >>> from penstock.testing import PushSource
    >>> env = StreamExecutionEnvironment()
    >>> words = env.from_source(PushSource()).key_by(lambda word: word).reduce(lambda a, b: a + b)
    >>> harness = Harness(env)
    >>> out = harness.collect(words)
    >>> harness.push("a"); harness.push("b"); harness.push("a"); out
    ['a', 'b', 'aa']
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        *,
        parallelism: int | None = None,
        max_parallelism: int | None = None,
        batch_mode: bool | None = None,
        real_sinks: bool = False,
        seed: int = 0,
    ) -> None:
        self.parallelism = parallelism or env.chosen_parallelism() or 1
        self.max_parallelism = max_parallelism or env.get_max_parallelism()
        self.time = 0  # processing time, in milliseconds
        self._pipeline = WatchedPipeline(env)
        self._batch_mode = (env.configuration.get(RUNTIME_MODE) == "BATCH") if batch_mode is None else batch_mode
        self._cached = env.configuration.get(BACKEND) == "hashmap"
        self._real_sinks = real_sinks
        self._seed = seed
        self._now_running: _Started | None = None
        self._reader: SourceReader | None = None
        self._offsets: list[Offset] | None = None  # where reading goes on after a restore
        self._inbox = Inbox()
        self._batching = False
        self._positions: dict[tuple[int, str], int] = {}
        self._splits = KnownSplits(self._pipeline.sources)
        self._run = uuid.uuid4().hex
        self._ended = False

    # -- what to look at; before the first batch

    def collect(self, stream: DataStream[Any]) -> Collected:
        """The elements of a stream, as they come."""
        return self._not_started().stream(stream)

    def side_output(self, tag: OutputTag, of: DataStream[Any] | None = None) -> Collected:
        """What functions yield with a tag: all functions, or the one that made the stream `of`."""
        return self._not_started().side_output(tag, of)

    def sink(self, name: str) -> Collected:
        """The elements that reach a sink of the pipeline, by the sink's name or uid."""
        return self._pipeline.sink(name)

    def _not_started(self) -> WatchedPipeline:
        if self._now_running is not None:
            raise PlanError(
                "HARNESS_STARTED",
                "The harness runs already, and a stream can be looked at from the start only. "
                "Call collect and side_output before the first push.",
            )
        return self._pipeline

    # -- input

    def push(
        self, value: Any, timestamp: int | None = None, *, source: str | None = None, split: str | None = None
    ) -> None:
        """Gives a source an element, with an event time in milliseconds if it has one."""
        self.push_all([value if timestamp is None else At(value, timestamp)], source=source, split=split)

    def push_all(self, items: Iterable[Item], *, source: str | None = None, split: str | None = None) -> None:
        """Gives a source elements in one batch; ``At(value, timestamp)`` and ``Mark(watermark)`` may be among them."""
        number = self._pipeline.source(source)
        self._inbox.add(number, split or self._splits.default(number), items)
        self._act()

    def push_watermark(self, watermark: int, *, source: str | None = None, split: str | None = None) -> None:
        """Says that a split's event time has come so far, beside what the source's watermark strategy says."""
        self.push_all([Mark(watermark)], source=source, split=split)

    def set_time(self, now: int) -> None:
        """Sets processing time, which never goes back; timers that are due fire."""
        self.time = max(self.time, now)
        self._act()

    def advance_time(self, by: int) -> None:
        """Lets processing time pass."""
        self.set_time(self.time + by)

    def know(self, *splits: str, source: str | None = None) -> None:
        """Declares splits of a source: event time waits for each until it speaks, is idle or has ended."""
        self._splits.declare(self._pipeline.source(source), list(splits))
        if self._now_running is not None:
            self._act()

    def end(self, source: str | None = None, split: str | None = None) -> None:
        """Ends all sources, one source, or one split. At the end of all, every event timer fires."""
        if source is None and split is None:
            self._inbox.end = True
        else:
            number = self._pipeline.source(source)
            ended = [split] if split is not None else self._splits.of(number) or [FIRST_SPLIT]
            self._inbox.ended.setdefault(number, []).extend(ended)
        self._act()

    def begin_run(self) -> None:
        """From the next batch on this is another run of the job: the time between does not count as idle."""
        self._run = uuid.uuid4().hex

    @contextmanager
    def batch(self) -> Iterator[None]:
        """All that is pushed inside is one batch.

        >>> from penstock.testing import PushSource
        >>> env = StreamExecutionEnvironment()
        >>> harness = Harness(env)
        >>> out = harness.collect(env.from_source(PushSource()))
        >>> with harness.batch():
        ...     harness.push("a"); harness.push("b")
        >>> out.batches
        [['a', 'b']]
        """
        self._batching = True
        try:
            yield
        except BaseException:
            self._inbox = Inbox()
            raise
        finally:
            self._batching = False
        self._act()

    def feed(self, step: Step, source: str | None = None) -> None:
        """One step of a script as one batch."""
        number = self._pipeline.source(source)
        for split, items in step.splits.items():
            self._inbox.add(number, split, items)
        if step.ended:
            self._inbox.ended.setdefault(number, []).extend(step.ended)
        self._inbox.end = step.end
        self._follow(step.clock, step.run)
        self._act()

    def run(self, max_batches: int | None = None) -> Harness:
        """Reads the pipeline's own sources to their end; endless ones as far as they go.

        >>> env = StreamExecutionEnvironment()
        >>> harness = Harness(env)
        >>> out = harness.collect(env.from_collection([1, 2, 3]).map(lambda x: x * x))
        >>> _ = harness.run(); out
        [1, 4, 9]
        """
        if self._reader is None:
            self._reader = SourceReader(self._pipeline.sources(), self.parallelism, self._offsets)
        whole: list[Planned] = []
        for reading in islice(self._reader.batches(), max_batches):
            for number, splits in reading.known.items():
                self._splits.declare(number, splits)
            self._follow(reading.clock, reading.run)
            if self._batch_mode:
                whole += reading.planned
            else:
                self._run_batch(Inbox(ended=reading.ended, end=reading.end), reading.planned, [])
            self._reader.commit(reading)
        if self._batch_mode:
            self._run_batch(Inbox(end=True), whole, [])
        return self

    # -- what can be seen

    def watermark(self, operator: str | DataStream[Any] | None = None) -> int:
        """The watermark of an operator, by its uid, name or stream; of the only one when there is one."""
        operators = self.job.program.operators
        name = operator._node.uid if isinstance(operator, DataStream) else operator
        found = [o.uid for o in operators if name in (None, o.uid, o.name)]
        if len(found) != 1:
            names = ", ".join(f"'{o.uid}'" for o in operators) or "none"
            raise PlanError(
                "NO_SUCH_OPERATOR", f"{len(found)} operators match {name!r}; the pipeline has {names}. Name one."
            )
        return self.watermarks()[found[0]]

    def watermarks(self) -> dict[str, int]:
        """The watermark of each operator, by uid; nothing before the first batch."""
        return self.job.watermarks()

    def late_records(self) -> int:
        """How many records operators have dropped as late."""
        return self.job.late_records

    def dead_letters(self) -> dict[str, int]:
        """How many dead letters operators have made, by uid."""
        return {uid: made for uid, (made, _) in self.job.dead_letters.items()}

    def skipped_records(self) -> dict[str, int]:
        """How many records sources have dropped because they do not decode, by uid."""
        return {uid: count for uid, count in self.job.skipped.items() if count}

    def next_wake(self) -> int | None:
        """The processing time at which a batch is needed even without input: a timer is due or a split becomes idle."""
        wakes = [r.wake for r in self.job.reports] + [sink.due() for sink in self.job.program.sinks]
        return min((wake for wake in wakes if wake is not None), default=None)

    @property
    def job(self) -> LocalJob:
        """What runs underneath."""
        return self._running.job

    # -- snapshots

    def snapshot(self) -> bytes:
        """All state, timers, clocks and positions."""
        positions = [(source, split, position) for (source, split), position in self._positions.items()]
        offsets = self._offsets if self._reader is None else self._reader.positions()
        saved = _Snapshot(self.job.snapshot(), self.time, positions, self._splits.known, offsets)
        return msgspec.msgpack.encode(saved)

    def restore(self, snapshot: bytes) -> Harness:
        """Goes on from a snapshot, also from one of another parallelism or max_parallelism, as another run.

        >>> from penstock.testing import PushSource
        >>> env = StreamExecutionEnvironment()
        >>> totals = env.from_source(PushSource()).key_by(lambda n: n % 3).reduce(lambda a, b: a + b)
        >>> first = Harness(env, parallelism=2); first.push(1); saved = first.snapshot()
        >>> second = Harness(env, parallelism=3); out = second.collect(totals)
        >>> second.restore(saved).push(4); out
        [5]
        """
        saved = msgspec.msgpack.decode(snapshot, type=_Snapshot)
        self.job.restore(saved.job)
        self._reader, self._offsets = None, saved.offsets
        self.time = saved.time
        self._positions = {(source, split): position for source, split, position in saved.positions}
        self._splits.known = saved.known
        self._ended = False
        self.begin_run()
        return self

    def savepoint(self, path: str | PathLike[str]) -> str:
        """Writes all state, timers, clocks and positions as a savepoint; gives its path. A job on Spark can start from it too."""
        offsets = self._offsets if self._reader is None else self._reader.positions()
        positions: dict[int, Any] = {} if offsets is None else dict(enumerate(offsets))
        for (source, split), position in self._positions.items():
            positions.setdefault(source, {}).setdefault(_PUSHED, {})[split] = position
        known = {str(number): splits for number, splits in self._splits.known.items()}
        return self.job.savepoint(str(path), positions, {"clock": self.time, "known": known, "ended": {}}).path

    def restore_savepoint(self, path: str | PathLike[str], allow_dropped_state: bool = False) -> Harness:
        """Goes on from a savepoint, also from one of a changed pipeline: its operators are found by their uids.

        >>> import tempfile
        >>> from penstock.testing import PushSource
        >>> env = StreamExecutionEnvironment()
        >>> totals = env.from_source(PushSource()).key_by(lambda n: n % 3).reduce(lambda a, b: a + b).uid("totals")
        >>> first = Harness(env, parallelism=2); first.push(1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved = first.savepoint(f"{folder}/saved")
        ...     second = Harness(env, parallelism=3); out = second.collect(totals)
        ...     second.restore_savepoint(saved).push(4); out
        [5]
        """
        savepoint = open_savepoint(str(path))
        matched = self.job.restore_savepoint(savepoint, allow_dropped_state)
        self._reader, self._positions = None, {}
        sources, offsets = self._pipeline.sources(), []
        for number, source in enumerate(sources):
            position = dict(matched.offsets.get(str(number)) or {})
            for split, at in position.pop(_PUSHED, {}).items():
                self._positions[number, split] = at
            offsets.append(position or source.initial())
        self._offsets = offsets
        control = matched.offsets["control"]
        self.time = max(self.time, control["clock"] or 0)
        self._splits.known = {int(number): list(splits) for number, splits in control["known"].items()}
        self._ended = False
        self.begin_run()
        return self

    @property
    def metrics(self) -> JobMetrics:
        """What the pipeline's functions measured in the batches so far; failed batches do not count."""
        return self.job.metrics

    @property
    def logs(self) -> list[LogLine]:
        """What the pipeline's functions logged, with operator and subtask; in failed batches too."""
        return self.job.logs

    # -- life

    def close(self) -> None:
        """Closes the pipeline's functions."""
        if self._now_running is not None:
            self._now_running.job.close()

    def __enter__(self) -> Harness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- inside

    @property
    def _running(self) -> _Started:
        if self._now_running is None:
            graph = self._pipeline.graph(self.parallelism, self.max_parallelism, self._real_sinks, self._batch_mode)
            program = build(graph)
            program.share_count = 1 + self._seed % 4
            program.cached = self._cached
            self._now_running = _Started(LocalJob(program, self._seed), self._pipeline.outputs(graph))
        return self._now_running

    def _follow(self, clock: int | None, run: object) -> None:
        self.time = self.time if clock is None else max(self.time, clock)
        self._run = self._run if run is None else str(run)

    def _act(self) -> None:
        if self._batching or (self._batch_mode and not self._inbox.end):
            return
        inbox, self._inbox = self._inbox, Inbox()
        self._splits.meet(inbox)
        planned, marks = inbox.planned(self.job.program, self._positions)
        self._run_batch(inbox, planned, marks)
        self._positions = inbox.moved(self._positions)

    def _run_batch(self, inbox: Inbox, planned: list[Planned], marks: list[Marks]) -> None:
        if self._ended:
            raise PlanError("HARNESS_ENDED", "All sources have ended, so nothing more can come. Use a new harness.")
        running = self._running
        control = Control(self._run, self.time, self._splits.known, inbox.ended, inbox.end)
        committed = running.job.run(planned, control, self.time, marks)
        for output, elements in zip(running.outputs, committed, strict=True):
            output.append_batch(e if isinstance(e, At) else At(e, 0) for e in elements)
        self._ended = inbox.end
        if inbox.end:
            running.job.finish_sinks()
