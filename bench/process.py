"""Keyed process functions: Penstock compared with Spark's transformWithState and with the same callback without state.

All contenders read the same JSON lines and discard their output. The result of a contender is events per second of its batches
after the first one (which starts workers), so the start of a query is not included.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import penstock as ps
from penstock.connectors import DiscardingSink, json_lines
from penstock.spark.session.session import configure_session, get_session

KEYS = 100_000
SCHEMA = "k string, x double, ts bigint"
SCHEMA_OUT = "k string, n bigint, gap bigint"
OUT = pa.schema([("k", pa.string()), ("n", pa.int64()), ("gap", pa.int64())])


class Event(msgspec.Struct, gc=False):
    k: str
    x: float
    ts: int


def write_events(folder: Path, files: int, per_file: int) -> None:
    rng = random.Random(7)
    folder.mkdir(parents=True)
    number = 0
    for file in range(files):
        with open(folder / f"{file:04d}.json", "w") as out:
            for _ in range(per_file):
                user, amount = rng.randrange(KEYS), rng.random()
                out.write(f'{{"k":"user-{user:06d}","x":{amount:.4f},"ts":{1_700_000_000_000 + number // 20}}}\n')
                number += 1


class Gaps(ps.KeyedProcessFunction):
    """(a) Stores a count and the last time of each key, and emits one output per event."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(
            ps.ValueStateDescriptor("seen", ps.Types.TUPLE([ps.Types.LONG(), ps.Types.LONG()]))
        )

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        seen = self.seen.value()
        count, last = seen if seen is not None else (0, value.ts)
        self.seen.update((count + 1, value.ts))
        yield value.k, count + 1, value.ts - last


class Minutes(ps.KeyedProcessFunction):
    """(b) Counts by minute in a map. A timer at the next full minute of each key emits the count and clears it."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(ps.MapStateDescriptor("counts", ps.Types.LONG(), ps.Types.LONG()))

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        minute = value.ts // 60_000
        count = (self.counts.get(minute) or 0) + 1
        self.counts.put(minute, count)
        ctx.timer_service().register_event_time_timer((minute + 1) * 60_000)
        yield value.k, minute, count

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        minute = timestamp // 60_000 - 1
        yield ctx.get_current_key(), minute, self.counts.get(minute)
        self.counts.remove(minute)


class GapsProcessor(StatefulProcessor):
    """(c) The same as (a), as a StatefulProcessor in the style of Spark's documentation."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.seen = handle.getValueState("seen", "count bigint, last bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        count, last = self.seen.get() if self.seen.exists() else (0, None)
        for row in rows:
            gap = row.ts - (row.ts if last is None else last)
            count, last = count + 1, row.ts
            yield Row(k=key[0], n=count, gap=gap)
        self.seen.update((count, last))

    def close(self) -> None:
        pass


class NoState:
    """Replaces the state of (a) in contenders without state."""

    def get_state(self, descriptor: Any) -> NoState:
        return self

    def value(self) -> None:
        return None

    def update(self, value: Any) -> None:
        """Does nothing."""


def rows_of(out: list[Any]) -> pa.RecordBatch:
    names, counts, gaps = zip(*out, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(names), pa.array(counts, pa.int64()), pa.array(gaps, pa.int64())], schema=OUT
    )


def stateless(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """(d) The callback of (a), with no state and no shuffle, on rows of Spark's JSON source."""

    class Line:
        __slots__ = ("k", "ts", "x")

        def __init__(self, k: str, x: float, ts: int) -> None:
            self.k, self.x, self.ts = k, x, ts

    function = Gaps()
    function.open(NoState())  # type: ignore[arg-type]
    for batch in batches:
        out: list[Any] = []
        for event in map(Line, *(column.to_pylist() for column in batch.columns)):
            out.extend(function.process_element(event, None))  # type: ignore[arg-type]
        if out:
            yield rows_of(out)


def stateless_text(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """(e) The same on lines of text, decoded in Python, with as little work in Spark as possible."""

    class Line(
        msgspec.Struct, gc=False
    ):  # a local class, because Spark's pickling of functions loses the fields of a Struct
        k: str
        x: float
        ts: int

    decode = msgspec.json.Decoder(Line).decode
    function = Gaps()
    function.open(NoState())  # type: ignore[arg-type]
    for batch in batches:
        out: list[Any] = []
        for line in batch.column(0).to_pylist():
            out.extend(function.process_element(decode(line), None))  # type: ignore[arg-type]
        if out:
            yield rows_of(out)


def penstock_rate(
    folder: Path, function: ps.KeyedProcessFunction, scratch: Path, bytes_per_batch: int, event_time: bool
) -> float:
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "state")})
    )
    source = json_lines(folder, Event, bytes_per_batch=bytes_per_batch)
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e.ts)
    events = env.from_source(source, strategy if event_time else None)
    events.key_by(lambda e: e.k).process(function).sink_to(DiscardingSink())
    result = env.execute()
    shutil.rmtree(scratch, ignore_errors=True)
    return measure.steady_rate(result.batches)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=5, help="batches of the fast contenders")
    arguments.add_argument("--per-file", type=int, default=800_000, help="events in each")
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    many, few = root / "many", root / "few"
    write_events(many, options.files, options.per_file)
    write_events(few, 4, 15_000)
    session: SparkSession = get_session(
        ps.Configuration({"spark.master": "local[2]", "spark.sql.execution.arrow.maxRecordsPerBatch": "100000"})
    )
    configure_session(session, ps.Configuration(), 2)
    size = max(f.stat().st_size for f in many.iterdir())

    def text(folder: Path) -> DataFrame:
        return session.readStream.option("maxFilesPerTrigger", 1).text(str(folder))

    def rows(folder: Path) -> DataFrame:
        return session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))

    # Spark reads the file of a batch with one task per split. This setting uses both cores.
    session.conf.set("spark.sql.files.maxPartitionBytes", str(size // 2 + 1))
    contenders = {
        "a value state": lambda: penstock_rate(many, Gaps(), root / "a", size, event_time=False),
        "b map state and timer": lambda: penstock_rate(many, Minutes(), root / "b", size, event_time=True),
        "c transformWithState": lambda: measure.spark_rate(
            rows(few).groupBy("k").transformWithState(GapsProcessor(), SCHEMA_OUT, "Append", "None"),
            root / "c",
        ),
        "d stateless mapInArrow": lambda: measure.spark_rate(rows(many).mapInArrow(stateless, SCHEMA_OUT), root / "d"),
        "e stateless, bare text": lambda: measure.spark_rate(
            text(many).mapInArrow(stateless_text, SCHEMA_OUT), root / "e"
        ),
    }
    found = measure.alternate(contenders, options.repeats, warm_up=1)
    shutil.rmtree(root, ignore_errors=True)
    a, b, c, d, e = measure.medians(found).values()
    measure.table(
        "process",
        ("contender", "median events/s", "runs"),
        [(n, measure.medians(found)[n], v) for n, v in found.items()],
    )
    measure.bars("process", "Keyed process functions, 100,000 keys, two cores", measure.medians(found), "events/s")
    figures = {"a": a, "b": b, "c": c, "d": d, "a/c": a / c, "e": e, "a/d": a / d, "b/a": b / a, "a/e": a / e}
    return measure.finish("process", figures, {"a/c": (a / c, 25), "a/d": (a / d, 0.6), "b/a": (b / a, 0.5)})


if __name__ == "__main__":
    sys.exit(main())
