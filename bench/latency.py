"""Latency at 1,000 events per second, from the creation of an event to its arrival at the sink.

Compares Penstock (a keyed function with state) with Spark's native deduplication, both with the same kind of Python source and
the same Python sink. Cold means the first ten seconds of a query in a new JVM. Warm results are those of the second half of a run.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import measure
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)

import penstock as ps
from penstock.connectors import Chunk, Sink, SinkWriter, WriteTask
from penstock.connectors.collection import CountedSource
from penstock.connectors.source import Offset
from penstock.spark.session.session import configure_session, get_session

RATE = 1000


class LiveSource(CountedSource):
    """Event i is created at began + i / RATE. Its value contains that time."""

    def __init__(self, began: float, seconds: float) -> None:
        super().__init__(int(seconds * RATE))
        self._began = began

    def latest(self, start: Offset) -> Offset:
        created = int((time.time() - self._began) * RATE)
        return {"n": max(start["n"], min(self.count or 0, created))}

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        yield Chunk("0", low, [(i, self._began + i / RATE) for i in range(low, high)])


class FirstSeen(ps.KeyedProcessFunction):
    """Emits the first event of each key, as deduplication does."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", ps.Types.BOOLEAN()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if not self.seen.value():
            self.seen.update(True)
            yield value


class LatencySink(Sink):
    """Writes the creation time and the latency of each event to a file, in seconds."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def writer(self, task: WriteTask) -> SinkWriter:
        return _LatencyWriter(Path(self._folder) / f"{task.batch}-{task.partition}")


class _LatencyWriter(SinkWriter):
    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: list[str] = []

    def write(self, values: list[Any], timestamps: Any, tags: Any) -> None:
        now = time.time()
        self._lines += [f"{created},{now - created}\n" for _, created in values]

    def prepare(self) -> Any:
        self._file.write_text("".join(self._lines))
        return None


class LiveReader(DataSourceStreamReader):
    """Reads the events of LiveSource as a Python data source for Spark."""

    def __init__(self, options: Any) -> None:
        self._source = LiveSource(float(options["began"]), float(options["seconds"]))

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._source.initial()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        return self._source.latest(start)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(t) for t in self._source.plan(start, end, 2)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for chunk in self._source.read(partition.value):
            ids, created = zip(*chunk.values, strict=True)
            yield pa.record_batch([pa.array(ids, pa.int64()), pa.array(created, pa.float64())], ["id", "created"])


class SparkLatencyWriter(DataSourceStreamArrowWriter):
    """The equivalent of LatencySink for Spark."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        lines = []
        for batch in iterator:
            now = time.time()
            lines += [f"{created},{now - created}\n" for created in batch.column("created").to_pylist()]
        Path(self._folder, f"{time.monotonic_ns()}").write_text("".join(lines))
        return WriterCommitMessage()

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803
        pass

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: N803
        pass


class Live(DataSource):
    @classmethod
    def name(cls) -> str:
        return "bench_live"

    def schema(self) -> str:
        return "id bigint, created double"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        return LiveReader(self.options)

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return SparkLatencyWriter(self.options["folder"])


def penstock(session: SparkSession, seconds: float, parallelism: int) -> tuple[list[tuple[float, float]], Any]:
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    (scratch / "out").mkdir()
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "l")})
    )
    env.set_parallelism(parallelism)
    source = LiveSource(time.time() + 2, seconds)
    env.from_source(source).key_by(lambda e: e[0]).process(FirstSeen()).sink_to(LatencySink(str(scratch / "out")))
    result = env.execute("latency")
    found = read(scratch / "out")
    shutil.rmtree(scratch, ignore_errors=True)
    return found, result


def native(session: SparkSession, seconds: float, parallelism: int) -> list[tuple[float, float]]:
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    (scratch / "out").mkdir()
    configure_session(session, ps.Configuration(), parallelism)
    session.dataSource.register(Live)
    began = time.time() + 2
    events = session.readStream.format("bench_live").options(began=str(began), seconds=str(seconds)).load()
    unique = events.dropDuplicates(["id"])
    writer = unique.writeStream.format("bench_live").option("folder", str(scratch / "out")).outputMode("append")
    query = writer.option("checkpointLocation", str(scratch / "checkpoint")).start()
    time.sleep(2 + seconds + 3)
    query.stop()
    found = read(scratch / "out")
    shutil.rmtree(scratch, ignore_errors=True)
    return found


def read(folder: Path) -> list[tuple[float, float]]:
    """Returns the creation time in seconds and the latency in milliseconds of all events."""
    lines = [line.split(",") for file in folder.iterdir() for line in file.read_text().splitlines()]
    return sorted((float(created), float(latency) * 1000) for created, latency in lines)


def percentiles(events: list[tuple[float, float]], since: float, until: float) -> dict[str, float]:
    start = events[0][0]
    latencies = sorted(latency for created, latency in events if since <= created - start < until)
    return {
        name: latencies[min(len(latencies) - 1, int(len(latencies) * q))]
        for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    session = get_session(ps.Configuration({"spark.master": "local[2]"}))
    cold, _ = penstock(session, 15, 2)
    cold_figures = percentiles(cold, 0, 10)
    contenders: dict[str, list[dict[str, float]]] = {
        "penstock": [],
        "penstock, one slot": [],
        "native deduplication": [],
    }
    last: Any = None
    for turn in range(-1, options.repeats):
        for name in contenders:
            if name == "native deduplication":
                events = native(session, options.seconds, 2)
            else:
                events, last = penstock(session, options.seconds, 1 if "one" in name else 2)
            figure = percentiles(events, options.seconds / 2, options.seconds)
            print(f"round {turn + 1}: {name}: {figure}", file=sys.stderr, flush=True)
            if turn >= 0:
                contenders[name].append(figure)
    figures: dict[str, Any] = {f"cold {k}": v for k, v in cold_figures.items()}
    rows = [("penstock, cold", *cold_figures.values())]
    for name, rounds in contenders.items():
        medians = {q: statistics.median(r[q] for r in rounds) for q in ("p50", "p95", "p99")}
        rows.append((name, *medians.values()))
        figures |= {f"{name} {q}": v for q, v in medians.items()}
    measure.table("latency", ("contender", "p50 ms", "p95 ms", "p99 ms"), rows)
    measure.bars("latency", "1,000 events/s: median latency", {str(r[0]): float(r[1]) for r in rows}, "ms")
    figures["time of a batch by phase, ms"] = time_by_phase(last)
    ratio = figures["penstock p50"] / figures["native deduplication p50"]
    targets = {"p50 ms": (figures["penstock p50"], 400.0), "p50 / native": (ratio, 2.0)}
    return measure.finish("latency", figures, targets, lower_is_better=tuple(targets))


def time_by_phase(result: Any) -> dict[str, float]:
    """Returns the medians over the second half of a run: Spark's phases, and the time in Penstock's code, in milliseconds."""
    warm = result.batches[len(result.batches) // 2 :]
    spent: dict[str, list[float]] = {}
    for batch in warm:
        for name, millis in batch["millis"].items():
            spent.setdefault(name, []).append(millis)
        for name, seconds in batch["seconds"].items():
            spent.setdefault(name, []).append(seconds * 1000)
    return {name: round(statistics.median(values), 1) for name, values in spent.items()}


if __name__ == "__main__":
    sys.exit(main())
