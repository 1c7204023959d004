"""The test harness: runs a pipeline in this process with a manual clock. A test pushes its input and checks its output."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from types import TracebackType
from typing import Any

import msgspec

from penstock.config.execution_options import BATCH_RECORDS, RUNTIME_MODE
from penstock.config.state_options import BACKEND
from penstock.connectors.scripted import At, Mark, Step
from penstock.connectors.source import Offset, ReadContext
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.engine.program.builder import build_program
from penstock.engine.wire.frames import Control
from penstock.engine.wire.log_capture import LogLine
from penstock.errors import PlanError
from penstock.functions import OutputTag
from penstock.local.executor import PlannedTask
from penstock.metrics import JobMetrics
from penstock.savepoints.savepoint import open_savepoint
from penstock.testing.collected import Collected
from penstock.testing.known_splits import FIRST_SPLIT, KnownSplits
from penstock.testing.local_engine import LocalJob
from penstock.testing.observed_pipeline import ObservedPipeline
from penstock.testing.pushed_source import PUSHED, Item, PendingInput
from penstock.testing.source_reading import LocalSourceReader


class _Snapshot(msgspec.Struct, frozen=True):
    """The state of a harness between two batches, without collected elements and the run id (time-rules 10.1)."""

    job: bytes
    time: int
    positions: list[tuple[int, str, int]]
    known: dict[int, list[str]]
    offsets: list[Offset] | None  # of sources that were read with `run`


@dataclass(slots=True)
class _RunningPipeline:
    """A pipeline that has started."""

    job: LocalJob
    outputs: list[Collected]


class Harness:
    """Runs a pipeline without Spark, for tests: the same operators, state in memory, and a clock that the test sets.

    Each call of `push`, `push_watermark`, `set_time` or `end` runs one batch, except inside ``with harness.batch():``. In batch
    mode all input is one batch, which runs at `end`.

    A pipeline needs no sink, because `collect` works on any stream. Elements that reach sinks of the pipeline are collected
    but not written, unless `real_sinks` is set. Functions are pickled as on Spark, so a test cannot observe changes of
    variables that they capture, only what they emit.

    :param env: the environment with the pipeline.
    :param parallelism: of operators without a parallelism of their own; by default that of the environment, or 1.
    :param max_parallelism: the number of key groups; by default that of the environment.
    :param batch_mode: run in batch mode; by default the value of `execution.runtime-mode`.
    :param real_sinks: write to the sinks of the pipeline.
    :param seed: determines the order in which data arrives at operators, as on a cluster. Results do not depend on it.

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
        self.parallelism = parallelism or env.configured_parallelism() or 1
        self.max_parallelism = max_parallelism or env.get_max_parallelism()
        self.time = 0  # processing time, in milliseconds
        self._pipeline = ObservedPipeline(env)
        self._batch_mode = (env.configuration.get(RUNTIME_MODE) == "BATCH") if batch_mode is None else batch_mode
        self._cached = env.configuration.get(BACKEND) == "hashmap"
        self._max_records = env.configuration.get(BATCH_RECORDS) or None
        self._real_sinks = real_sinks
        self._seed = seed
        self._running_pipeline: _RunningPipeline | None = None
        self._reader: LocalSourceReader | None = None
        self._offsets: list[Offset] | None = None  # from which sources continue after a restore
        self._input = PendingInput()
        self._batching = False
        self._positions: dict[tuple[int, str], int] = {}
        self._splits = KnownSplits(self._pipeline.sources)
        self._run = uuid.uuid4().hex
        self._ended = False
        self._warned_of_pause = False

    # -- collecting, declared before the first batch

    def collect(self, stream: DataStream[Any]) -> Collected:
        """Collects the elements of a stream. Call it before the first batch."""
        return self._require_not_started().stream(stream)

    def side_output(self, tag: OutputTag, of: DataStream[Any] | None = None) -> Collected:
        """Collects the elements of a side output, of all functions or only of the one that produces the stream `of`."""
        return self._require_not_started().side_output(tag, of)

    def sink(self, name: str) -> Collected:
        """Returns the elements that reach a sink of the pipeline. `name` is its name or uid."""
        return self._pipeline.sink(name)

    def _require_not_started(self) -> ObservedPipeline:
        if self._running_pipeline is not None:
            raise PlanError(
                "HARNESS_STARTED",
                "The harness has already started, and a stream can only be collected from the start. "
                "Call collect and side_output before the first push.",
            )
        return self._pipeline

    # -- input

    def push(
        self, value: Any, timestamp: int | None = None, *, source: str | None = None, split: str | None = None
    ) -> None:
        """Pushes an element into a source. `timestamp` is its event time in milliseconds.

        `source` is a uid or name; it is needed if the pipeline has several sources. Without `split`, the first split is used.
        """
        self.push_all([value if timestamp is None else At(value, timestamp)], source=source, split=split)

    def push_all(self, items: Iterable[Item], *, source: str | None = None, split: str | None = None) -> None:
        """Pushes several elements in one batch. Items may also be ``At(value, timestamp)`` or ``Mark(watermark)``."""
        number = self._pipeline.source(source)
        split = split or self._splits.default_split(number)
        self._warn_if_paused(number, split)
        self._input.add(number, split, items)
        self._run_input()

    def push_watermark(self, watermark: int, *, source: str | None = None, split: str | None = None) -> None:
        """Pushes a watermark of a split, in addition to those of the watermark strategy of the source."""
        self.push_all([Mark(watermark)], source=source, split=split)

    def set_time(self, now: int) -> None:
        """Sets the processing time, in milliseconds, and fires the timers that are due. Time never goes back."""
        self.time = max(self.time, now)
        self._run_input()

    def advance_time(self, by: int) -> None:
        """Advances the processing time by some milliseconds."""
        self.set_time(self.time + by)

    def know(self, *splits: str, source: str | None = None) -> None:
        """Declares splits of a source. Event time waits for each of them until it has a watermark, is idle or has ended."""
        self._splits.declare(self._pipeline.source(source), list(splits))
        if self._running_pipeline is not None:
            self._run_input()

    def end(self, source: str | None = None, split: str | None = None) -> None:
        """Ends all sources, one source, or one split. When all sources have ended, all event-time timers fire."""
        if source is None and split is None:
            self._input.end = True
        else:
            number = self._pipeline.source(source)
            ended = [split] if split is not None else self._splits.splits_of(number) or [FIRST_SPLIT]
            self._input.ended.setdefault(number, []).extend(ended)
        self._run_input()

    def begin_run(self) -> None:
        """Starts another run of the job with the next batch, as after a restart. The time between does not count as idle."""
        self._run = uuid.uuid4().hex

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Runs everything that is pushed inside this context as one batch.

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
            self._input = PendingInput()
            raise
        finally:
            self._batching = False
        self._run_input()

    def feed(self, step: Step, source: str | None = None) -> None:
        """Runs one step of a script as one batch."""
        number = self._pipeline.source(source)
        for split, items in step.splits.items():
            self._input.add(number, split, items)
        if step.ended:
            self._input.ended.setdefault(number, []).extend(step.ended)
        self._input.end = step.end
        self._set_clock_and_run(step.clock, step.run)
        self._run_input()

    def run(self, max_batches: int | None = None) -> Harness:
        """Reads the sources of the pipeline: bounded ones to their end, others until they have no new elements.

        >>> env = StreamExecutionEnvironment()
        >>> harness = Harness(env)
        >>> out = harness.collect(env.from_collection([1, 2, 3]).map(lambda x: x * x))
        >>> _ = harness.run(); out
        [1, 4, 9]
        """
        if self._reader is None:
            sources = self._pipeline.sources()
            if self._max_records is not None:
                for source in sources:
                    source.configure(ReadContext(self._max_records))
            self._reader = LocalSourceReader(sources, self.parallelism, self._offsets, self.job.paused_splits)
        tasks: list[PlannedTask] = []
        for batch in islice(self._reader.batches(), max_batches):
            for number, splits in batch.known.items():
                self._splits.declare(number, splits)
            self._set_clock_and_run(batch.clock, batch.run)
            if self._batch_mode:
                tasks += batch.planned
            else:
                self._run_batch(PendingInput(ended=batch.ended, end=batch.end), batch.planned)
            self._reader.commit(batch)
        if self._batch_mode:
            self._run_batch(PendingInput(end=True), tasks)
        return self

    # -- results

    def watermark(self, operator: str | DataStream[Any] | None = None) -> int:
        """Returns the watermark of an operator, by uid, name or stream. The argument may be omitted if there is one operator."""
        operators = self.job.program.operators
        name = operator._node.uid if isinstance(operator, DataStream) else operator
        found = [o.uid for o in operators if name in (None, o.uid, o.name)]
        if len(found) != 1:
            names = ", ".join(f"'{o.uid}'" for o in operators) or "none"
            raise PlanError(
                "NO_SUCH_OPERATOR",
                f"{len(found)} operators match {name!r}. The pipeline has {names}. Pass the uid of one of them.",
            )
        return self.watermarks()[found[0]]

    def watermarks(self) -> dict[str, int]:
        """Returns the watermark of each operator, by uid. Empty before the first batch."""
        return self.job.watermarks()

    def late_records(self) -> int:
        """Returns how many late records operators have dropped."""
        return self.job.late_records

    def dead_letters(self) -> dict[str, int]:
        """Returns the number of dead letters of each operator, by uid."""
        return {uid: count for uid, (count, _) in self.job.dead_letters.items()}

    def skipped_records(self) -> dict[str, int]:
        """Returns how many records each source has dropped because they cannot be decoded, by uid."""
        return {uid: count for uid, count in self.job.skipped.items() if count}

    def next_wake(self) -> int | None:
        """Returns the processing time at which the next batch is needed without input, for a timer or an idle timeout."""
        wakes = [r.next_wakeup for r in self.job.reports] + [sink.due() for sink in self.job.program.sinks]
        return min((wake for wake in wakes if wake is not None), default=None)

    @property
    def job(self) -> LocalJob:
        """The job that the harness runs."""
        return self._pipeline_run.job

    # -- snapshots

    def snapshot(self) -> bytes:
        """Returns all state, timers, clocks and positions of sources."""
        positions = [(source, split, position) for (source, split), position in self._positions.items()]
        offsets = self._offsets if self._reader is None else self._reader.positions()
        saved = _Snapshot(self.job.snapshot(), self.time, positions, self._splits.known, offsets)
        return msgspec.msgpack.encode(saved)

    def restore(self, snapshot: bytes) -> Harness:
        """Restores a snapshot and starts another run. The snapshot may have another parallelism or max_parallelism.

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
        """Writes all state, timers, clocks and positions as a savepoint and returns its path. Jobs on Spark can restore it too."""
        offsets = self._offsets if self._reader is None else self._reader.positions()
        positions: dict[int, Any] = {} if offsets is None else dict(enumerate(offsets))
        for (source, split), position in self._positions.items():
            positions.setdefault(source, {}).setdefault(PUSHED, {})[split] = position
        known = {str(number): splits for number, splits in self._splits.known.items()}
        return self.job.savepoint(str(path), positions, {"clock": self.time, "known": known, "ended": {}}).path

    def restore_savepoint(self, path: str | PathLike[str], allow_dropped_state: bool = False) -> Harness:
        """Restores a savepoint and starts another run. The pipeline may have changed; operators are matched by uid.

        State that no operator claims is an error unless `allow_dropped_state` is set.

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
        matched = self.job.restore_savepoint(savepoint, allow_dropped_state, self.time)
        self._reader, self._positions = None, {}
        sources, offsets = self._pipeline.sources(), []
        for number, source in enumerate(sources):
            position = dict(matched.offsets.get(str(number)) or {})
            for split, at in position.pop(PUSHED, {}).items():
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
        """The metrics of user functions in all batches so far, without failed batches."""
        return self.job.metrics

    @property
    def logs(self) -> list[LogLine]:
        """The log lines of user functions, with operator and subtask, also of failed batches."""
        return self.job.logs

    # -- closing

    def close(self) -> None:
        """Closes the functions of the pipeline."""
        if self._running_pipeline is not None:
            self._running_pipeline.job.close()

    def __enter__(self) -> Harness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- internal

    @property
    def _pipeline_run(self) -> _RunningPipeline:
        if self._running_pipeline is None:
            graph = self._pipeline.graph(self.parallelism, self.max_parallelism, self._real_sinks, self._batch_mode)
            program = build_program(graph)
            program.batch_partition_count = 1 + self._seed % 4
            program.caches_state = self._cached
            self._running_pipeline = _RunningPipeline(LocalJob(program, self._seed), self._pipeline.outputs(graph))
        return self._running_pipeline

    def _warn_if_paused(self, source: int, split: str) -> None:
        """Warns once if a job would not read the pushed elements yet, because watermark alignment has paused their split."""
        if self._warned_of_pause or self._running_pipeline is None:
            return
        if split in self.job.paused_splits(source, {}):
            self._warned_of_pause = True
            warnings.warn(
                f"Split '{split}' of source '{self.job.program.sources[source].name}' is ahead of its alignment group by more "
                "than the maximum drift. A running job would pause it. The harness processes pushed elements anyway; it pauses "
                "splits only in run().",
                UserWarning,
                stacklevel=4,
            )

    def _set_clock_and_run(self, clock: int | None, run: object) -> None:
        self.time = self.time if clock is None else max(self.time, clock)
        self._run = self._run if run is None else str(run)

    def _run_input(self) -> None:
        if self._batching or (self._batch_mode and not self._input.end):
            return
        pending, self._input = self._input, PendingInput()
        self._splits.add_pushed(pending)
        self._run_batch(pending, pending.plan(self._positions))
        self._positions = pending.advance(self._positions)

    def _run_batch(self, pending: PendingInput, planned: list[PlannedTask]) -> None:
        if self._ended:
            raise PlanError("HARNESS_ENDED", "All sources have ended, so no more input is possible. Use a new harness.")
        running = self._pipeline_run
        control = Control(self._run, self.time, self._splits.known, pending.ended, pending.end)
        committed = running.job.run(planned, control, self.time)
        for output, elements in zip(running.outputs, committed, strict=True):
            output.append_batch(e if isinstance(e, At) else At(e, 0) for e in elements)
        self._ended = pending.end
        if pending.end:
            running.job.finish_sinks()
