"""Situations that an operator meets, each made for real: what a job does, what is done to it, and which cause is the right one."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, DiscardingSink
from penstock.connectors.encoder import Encoder
from penstock.connectors.file.bucket_assigner import BucketAssigner
from penstock.connectors.file.sink import FileSink
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.records import Tags
from tests.faults.filesystem.failing import FailingStore

Element = tuple[str, int]
_BEGIN = 1_767_258_000_000


class Counting(ps.KeyedProcessFunction):
    """Counts by key; may sleep, compute, or keep something large for every element."""

    def __init__(self, sleeps: float = 0.0, rounds: int = 0, keeps: int = 0, pids: str = "") -> None:
        self._sleeps, self._rounds, self._keeps, self._pids = sleeps, rounds, keeps, pids

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))
        self.large = runtime_context.get_state(ps.ValueStateDescriptor("large", bytes))
        if self._pids:
            Path(self._pids, str(runtime_context.get_index_of_this_subtask())).write_text(str(os.getpid()))

    def process_element(self, value: Element, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Element]:
        if self._sleeps:
            time.sleep(self._sleeps)
        for _ in range(self._rounds):
            hash(value)
        if self._keeps:
            self.large.update(random.randbytes(self._keeps))
        self.count.update((self.count.value() or 0) + 1)
        yield value


class SlowWriter(SinkWriter):
    """A database that takes its time for every element."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        time.sleep(self._seconds * len(values))


class SlowSink(Sink):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def writer(self, task: WriteTask) -> SinkWriter:
        return SlowWriter(self._seconds)


class ByKey(BucketAssigner):
    def get_bucket_id(self, element: Element, context: Any) -> str:
        return element[0].replace(" ", "-")


class Stage:
    """Where a situation is played: folders, a store that can be disturbed, and the workers' process ids."""

    def __init__(self, root: Path, store: FailingStore) -> None:
        self.root = root
        self.store = store
        self.pids = root / f"pids-{time.monotonic_ns()}"
        self.pids.mkdir()

    def worker(self, slot: int) -> int:
        return int((self.pids / str(slot)).read_text())


Env = ps.StreamExecutionEnvironment
Play = Callable[[Stage], None]


@dataclass
class Situation:
    """A job, its options, what is done to it while it runs, and the cause that is to be named."""

    name: str
    cause: str
    build: Callable[[Env, Stage], None]
    options: dict[str, Any] = field(default_factory=dict)
    disturb: Play = lambda stage: None
    heal: Play = lambda stage: None
    names: str = ""  # what the finding's title must name
    checkpoints: int = 12  # before it is asked
    seconds: float = 6.0  # after the disturbance


def element(keys: int, hot: float = 0.0) -> Callable[[int], Element]:
    """Elements over so many keys; one of them has a larger share."""

    def made(i: int) -> Element:
        return ("popular" if i * 7919 % 1000 < hot * 1000 else f"key {i * 31 % keys}"), _BEGIN + i

    return made


def counted(
    env: Env,
    stage: Stage,
    rate: float,
    keys: int = 500,
    hot: float = 0.0,
    sink: Sink | None = None,
    records_per_batch: int | None = None,
    **does: Any,
) -> None:
    """The usual job: generated elements, counted by key, written."""
    source = DataGeneratorSource(element(keys, hot), None, rate, records_per_batch)
    orders = env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "orders")
    counts = orders.key_by(lambda v: v[0]).process(Counting(pids=str(stage.pids), **does)).name("totals").uid("totals")
    counts.sink_to(sink or DiscardingSink()).name("out")


def in_time(generated: Callable[[int], Element], rate: float) -> tuple[DataGeneratorSource, Any]:
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_seconds(1))
    return DataGeneratorSource(generated, None, rate), strategy.with_timestamp_assigner(lambda v, _: v[1])


def two_sources(env: Env, stage: Stage) -> None:
    """Payments come all the time, refunds hardly ever: the join's event time waits for them."""
    payments = env.from_source(*in_time(element(200), 2000), "payments")
    refunds = env.from_source(*in_time(element(200), 0.01), "refunds")
    both = payments.union(refunds).key_by(lambda v: v[0])
    both.process(Counting()).name("matched").uid("matched").sink_to(DiscardingSink()).name("out")


def to_files(env: Env, stage: Stage) -> None:
    rows = FileSink.for_row_format(str(stage.root / "files"), Encoder.simple_string_encoder())
    counted(env, stage, 2000, keys=60, sink=rows.with_bucket_assigner(ByKey()).build())


def stop_worker(stage: Stage) -> None:
    os.kill(stage.worker(1), signal.SIGSTOP)


def wake_worker(stage: Stage) -> None:
    os.kill(stage.worker(1), signal.SIGCONT)


EVERY_SECOND = {"execution.trigger.interval": "1 s"}
EVERY_FOUR = {"execution.trigger.interval": "4 s"}  # a loaded laptop needs a second for a batch

SITUATIONS = [
    Situation("steady", "healthy", lambda e, s: counted(e, s, 2000), EVERY_FOUR, checkpoints=9),
    Situation("as soon as possible", "healthy", lambda e, s: counted(e, s, 500), {}),
    Situation("sleeping function", "slow-function", lambda e, s: counted(e, s, 280, sleeps=0.004), names="totals"),
    Situation("slow sink", "slow-sink", lambda e, s: counted(e, s, 600, sink=SlowSink(0.002)), names="out"),
    Situation(
        "throttled disk",
        "slow-storage",
        lambda e, s: counted(e, s, 2000),
        disturb=lambda stage: stage.store.command(delay=150),
        heal=lambda stage: stage.store.heal(),
        seconds=35,
    ),
    Situation("large values", "too-much-state", lambda e, s: counted(e, s, 600, keys=1500, keeps=100_000)),
    Situation(
        "hot key",
        "skewed-keys",
        lambda e, s: counted(e, s, 15_000, hot=0.85, rounds=300),
        EVERY_SECOND,
        names="popular",
    ),
    Situation(
        "stopped worker",
        "stalled-worker",
        lambda e, s: counted(e, s, 2000),
        EVERY_FOUR,
        disturb=stop_worker,
        heal=wake_worker,
        seconds=25,
        checkpoints=9,
        names="A worker stands still",
    ),
    Situation("many buckets", "small-files", to_files, EVERY_FOUR, names="out", checkpoints=9),
    Situation(
        "hasty checkpoints", "short-interval", lambda e, s: counted(e, s, 500), {"execution.trigger.interval": "50 ms"}
    ),
    Situation("silent source", "idle-source", two_sources, EVERY_FOUR, names="refunds", checkpoints=9),
    Situation(
        "too much to do",
        "backpressure",
        lambda e, s: counted(e, s, 400_000, rounds=60, records_per_batch=150_000),
        checkpoints=9,
        names="orders",
    ),
]
