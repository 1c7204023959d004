"""Situations that occur in production: a job, a disturbance, and the expected cause."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, DiscardingSink
from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.file.sink.sink import FileSink
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.loop.records import Tags
from tests.system.faults.filesystem.failing import FailingStore

Element = tuple[str, int]
_BEGIN = 1_767_258_000_000


class Counting(ps.KeyedProcessFunction):
    """Counts by key. It can sleep, compute, or store a large value for every element."""

    def __init__(self, sleep: float = 0.0, rounds: int = 0, value_size: int = 0, pids: str = "") -> None:
        self._sleep, self._rounds, self._value_size, self._pids = sleep, rounds, value_size, pids

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))
        self.large = runtime_context.get_state(ps.ValueStateDescriptor("large", bytes))
        if self._pids:
            Path(self._pids, str(runtime_context.get_index_of_this_subtask())).write_text(str(os.getpid()))

    def process_element(self, value: Element, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Element]:
        if self._sleep:
            time.sleep(self._sleep)
        for _ in range(self._rounds):
            hash(value)
        if self._value_size:
            self.large.update(random.randbytes(self._value_size))
        self.count.update((self.count.value() or 0) + 1)
        yield value


class SlowWriter(SinkWriter):
    """A slow database."""

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
    """The environment of a situation: folders, a checkpoint store that can fail, and the process ids of workers."""

    def __init__(self, root: Path, store: FailingStore) -> None:
        self.root = root
        self.store = store
        self.pids = root / f"pids-{time.monotonic_ns()}"
        self.pids.mkdir()
        self.other_programs: list[subprocess.Popen[bytes]] = []

    def worker(self, slot: int) -> int:
        return int((self.pids / str(slot)).read_text())


Env = ps.StreamExecutionEnvironment
StageAction = Callable[[Stage], None]


@dataclass
class Situation:
    """A job, its options, a disturbance while it runs, and the expected cause."""

    name: str
    cause: str
    build: Callable[[Env, Stage], None]
    options: dict[str, Any] = field(default_factory=dict)
    disturb: StageAction = lambda stage: None
    heal: StageAction = lambda stage: None
    title: str = ""  # part of the expected title of the finding
    checkpoints: int = 12  # before the disturbance
    seconds: float = 6.0  # after the disturbance


def element(keys: int, hot: float = 0.0) -> Callable[[int], Element]:
    """Generates elements for a number of keys. The key "popular" has the share `hot`."""

    def generate(i: int) -> Element:
        return ("popular" if i * 7919 % 1000 < hot * 1000 else f"key {i * 31 % keys}"), _BEGIN + i

    return generate


def count_by_key(
    env: Env,
    stage: Stage,
    rate: float,
    keys: int = 500,
    hot: float = 0.0,
    sink: Sink | None = None,
    records_per_batch: int | None = None,
    **settings: Any,
) -> None:
    """A job that counts generated elements by key and writes them to a sink."""
    source = DataGeneratorSource(element(keys, hot), None, rate, records_per_batch)
    orders = env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "orders")
    counts = (
        orders.key_by(lambda v: v[0]).process(Counting(pids=str(stage.pids), **settings)).name("totals").uid("totals")
    )
    counts.sink_to(sink or DiscardingSink()).name("out")


def with_timestamps(generated: Callable[[int], Element], rate: float) -> tuple[DataGeneratorSource, Any]:
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_seconds(1))
    return DataGeneratorSource(generated, None, rate), strategy.with_timestamp_assigner(lambda v, _: v[1])


def two_sources(env: Env, stage: Stage) -> None:
    """A source with many elements and an idle one, which holds event time back."""
    payments = env.from_source(*with_timestamps(element(200), 2000), "payments")
    refunds = env.from_source(*with_timestamps(element(200), 0.01), "refunds")
    both = payments.union(refunds).key_by(lambda v: v[0])
    both.process(Counting()).name("matched").uid("matched").sink_to(DiscardingSink()).name("out")


def to_files(env: Env, stage: Stage) -> None:
    rows = FileSink.for_row_format(str(stage.root / "files"), Encoder.simple_string_encoder())
    count_by_key(env, stage, 2000, keys=60, sink=rows.with_bucket_assigner(ByKey()).build())


def stop_worker(stage: Stage) -> None:
    os.kill(stage.worker(1), signal.SIGSTOP)


def resume_worker(stage: Stage) -> None:
    os.kill(stage.worker(1), signal.SIGCONT)


def use_all_cpus(stage: Stage) -> None:
    for _ in range(4 * (os.cpu_count() or 1)):
        stage.other_programs.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))


def end_other_programs(stage: Stage) -> None:
    for program in stage.other_programs:
        program.kill()
        program.wait()


EVERY_SECOND = {"execution.trigger.interval": "1 s"}
EVERY_FOUR = {"execution.trigger.interval": "4 s"}  # a loaded laptop needs a second for a batch

SITUATIONS = [
    Situation("steady", "healthy", lambda e, s: count_by_key(e, s, 2000), EVERY_FOUR, checkpoints=9),
    Situation("as soon as possible", "healthy", lambda e, s: count_by_key(e, s, 500), {}),
    Situation("sleeping function", "slow-function", lambda e, s: count_by_key(e, s, 280, sleep=0.004), title="totals"),
    Situation("slow sink", "slow-sink", lambda e, s: count_by_key(e, s, 600, sink=SlowSink(0.002)), title="out"),
    Situation(
        "throttled disk",
        "slow-storage",
        lambda e, s: count_by_key(e, s, 2000),
        disturb=lambda stage: stage.store.command(delay=150),
        heal=lambda stage: stage.store.heal(),
        seconds=35,
    ),
    Situation(
        "busy machine",
        "overloaded-machine",
        lambda e, s: count_by_key(e, s, 2000),
        disturb=use_all_cpus,
        heal=end_other_programs,
        seconds=35,
    ),
    Situation("large values", "too-much-state", lambda e, s: count_by_key(e, s, 600, keys=1500, value_size=100_000)),
    Situation(
        "hot key",
        "skewed-keys",
        lambda e, s: count_by_key(e, s, 15_000, hot=0.85, rounds=300),
        EVERY_SECOND,
        title="popular",
    ),
    Situation(
        "stopped worker",
        "stalled-worker",
        lambda e, s: count_by_key(e, s, 2000),
        EVERY_FOUR,
        disturb=stop_worker,
        heal=resume_worker,
        seconds=25,
        checkpoints=9,
        title="A worker is stalled",
    ),
    Situation("many buckets", "small-files", to_files, EVERY_FOUR, title="out", checkpoints=9),
    Situation(
        "hasty checkpoints",
        "short-interval",
        lambda e, s: count_by_key(e, s, 500),
        {"execution.trigger.interval": "50 ms"},
    ),
    Situation("silent source", "idle-source", two_sources, EVERY_FOUR, title="refunds", checkpoints=9),
    Situation(
        "too much to do",
        "backpressure",
        lambda e, s: count_by_key(e, s, 400_000, rounds=60, records_per_batch=150_000),
        checkpoints=9,
        title="orders",
    ),
]
