"""Latency, throughput and processor time by `execution.buffer-timeout.interval`, on Spark and on the local engine.

A keyed function with state reads events at a fixed rate. Figures are those of the second half of a run, in a warm session. The
target is that waiting pays: at the lowest rate, 1,000 ms cost less processor time per event than 0 ms.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
import psutil
from latency import FirstSeen, LatencySink, percentiles, read

import penstock as ps
from penstock.connectors import Chunk
from penstock.connectors.collection import CountedSource
from penstock.connectors.source import Offset

RATES = (100, 1_000, 50_000)
TIMEOUTS = (0, 10, 100, 1_000)
ENGINES = {"spark": "penstock.spark.engine:SparkEngine", "local": "local"}


class SteadySource(CountedSource):
    """Event i is created at began + i / rate. Its value contains that time. The source is unbounded."""

    def __init__(self, began: float, rate: int) -> None:
        super().__init__(None)
        self._began = began
        self._rate = rate

    def latest(self, start: Offset) -> Offset:
        created = int((time.time() - self._began) * self._rate)
        return {"n": max(start["n"], min(start["n"] + self.records_per_batch, created))}

    def waiting(self, end: Offset) -> list[str]:
        return []

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        yield Chunk("0", low, [(i % 100_000, self._began + i / self._rate) for i in range(low, high)])


class Latest(FirstSeen):
    """Stores the time of the last event of each key, and emits every event."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update(True)
        yield value


def processor_seconds() -> float:
    """Returns the processor time of this process and of all processes that it has started."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            used = process.cpu_times()
        except psutil.Error:  # it has just ended
            continue
        total += used.user + used.system
    return total


def run(engine: str, rate: int, timeout: int, seconds: float) -> dict[str, float]:
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    (scratch / "out").mkdir()
    options = {
        "execution.engine": ENGINES[engine],
        "execution.checkpointing.dir": str(scratch / "checkpoints"),
        "state.local.dir": str(scratch / "local"),
        "execution.buffer-timeout.interval": timeout,
        "spark.master": "local[2]",
    }
    env = ps.StreamExecutionEnvironment(ps.Configuration(options)).set_parallelism(1 if engine == "local" else 2)
    began = time.time() + 2
    events = env.from_source(SteadySource(began, rate)).key_by(lambda event: event[0])
    events.process(Latest()).sink_to(LatencySink(str(scratch / "out")))
    client = env.execute_async(f"{rate} events/s, {timeout} ms")
    time.sleep(max(0.0, began + seconds / 2 - time.time()))
    before = processor_seconds()
    time.sleep(seconds / 2)
    used = processor_seconds() - before
    client.cancel().result()
    found = read(scratch / "out")
    shutil.rmtree(scratch, ignore_errors=True)
    window = [created for created, _ in found if seconds / 2 <= created - began < seconds]
    figures = percentiles(found, seconds / 2, seconds - 1)
    expected = rate * seconds / 2
    return {
        "p50": figures["p50"],
        "p99": figures["p99"],
        "events/s": len(window) / (seconds / 2),
        "cpu": used * 1e6 / expected,  # microseconds per event
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=16)
    arguments.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    options = arguments.parse_args()
    rows: list[tuple[Any, ...]] = []
    figures: dict[str, Any] = {}
    for engine in options.engines:
        run(engine, RATES[1], 0, options.seconds)  # warm-up
        for rate in RATES:
            for timeout in TIMEOUTS:
                found = run(engine, rate, timeout, options.seconds)
                print(engine, rate, timeout, found, file=sys.stderr, flush=True)
                rows.append((engine, f"{rate:,}", timeout, *found.values()))
                figures[f"{engine}, {rate} events/s, {timeout} ms"] = {k: round(v, 1) for k, v in found.items()}
    head = ("engine", "rate", "timeout ms", "p50 ms", "p99 ms", "events/s", "CPU µs per event")
    measure.table("buffer_timeout", head, rows)
    engine = options.engines[0]
    slow, fast = (figures[f"{engine}, {RATES[0]} events/s, {timeout} ms"]["cpu"] for timeout in (TIMEOUTS[-1], 0))
    targets = {"CPU of 1,000 ms / 0 ms at 100 events/s": (slow / fast, 0.8)}
    if "local" in options.engines:
        targets["local, p50 ms at 1,000 events/s"] = (figures["local, 1000 events/s, 0 ms"]["p50"], 10.0)
    return measure.finish("buffer_timeout", figures, targets, lower_is_better=tuple(targets))


if __name__ == "__main__":
    sys.exit(main())
