"""Large state: each batch updates 50,000 random keys out of 10 thousand to 10 million.

First all keys are written in large batches. Then batches of 50,000 random keys are measured: their rate, the bytes that they
write, and the memory of Python workers. Sizes alternate, in ascending order in one round and in descending order in the next.
There is a warm-up run first, because the JVM compiles its code during the first job, which would make larger sizes look better.
At the largest size the job is stopped and resumed twice, with its working copies (warm) and without them (cold).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import measure
from touched_keys import PAYLOAD, TouchedKeys, UpdateCounter

import penstock as ps
from penstock.connectors import DiscardingSink
from penstock.connectors.source import Offset
from penstock.spark.job.job import SparkJob
from penstock.spark.session.session import get_session

KEYS_PER_BATCH = 50_000
FILL = 400_000


class KeysSource(TouchedKeys):
    """Reads all keys once in large batches, then random keys, 50,000 per batch, without end."""

    def __init__(self, keys: int) -> None:
        super().__init__(keys, None)

    def latest(self, start: Offset) -> Offset:
        n = start["n"]
        return {"n": min(self.keys, n + FILL) if n < self.keys else n + KEYS_PER_BATCH}


class WorkerMemory:
    """Samples the peak memory of a Python worker."""

    def __init__(self) -> None:
        self.peak = 0
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()

    def _run(self) -> None:
        while self._running:
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    self.peak = max(self.peak, _private_bytes(entry))
            time.sleep(0.25)


def _private_bytes(process: Path) -> int:
    """Returns the private memory of a Python worker. Pages of the working copy are not included; they are in the page cache."""
    try:
        if b"pyspark.worker" not in (process / "cmdline").read_bytes():
            return 0
        status = (process / "status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon")), 0)


def run(keys: int, batches: int, scratch: Path, resume: str = "") -> Any:
    """Runs until a number of batches of 50,000 keys is committed, then stops. The job can be resumed from there."""
    settings = {"execution.checkpointing.dir": str(scratch / "checkpoints"), "state.local.dir": str(scratch / "local")}
    if resume:
        settings["execution.resume"] = resume
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings))
    env.set_parallelism(2)
    env.from_source(KeysSource(keys)).key_by(lambda k: k).process(UpdateCounter()).sink_to(DiscardingSink())
    job = SparkJob(env.graph(f"{keys} keys"), env.configuration, env.files)
    job.start()
    while (
        job.query is not None
        and job.query.isActive
        and len(update_batches([r.to_dict() for r in job.folder.reports.latest()])) < batches
    ):
        time.sleep(0.1)
    job.stop()
    return job.result()


def update_batches(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the batches of 50,000 keys."""
    return [b for b in batches if sum(b["read"].values()) == KEYS_PER_BATCH]


def measured_batches(result: Any) -> list[dict[str, Any]]:
    """Returns the batches of 50,000 keys without the first three, and without batches that Spark did not report before the stop."""
    return [b for b in update_batches(result.batches)[3:] if b["millis"]]


def median_rate(batches: list[dict[str, Any]]) -> float:
    return statistics.median(KEYS_PER_BATCH / b["millis"]["triggerExecution"] * 1000 for b in batches)


def time_by_phase(batches: list[dict[str, Any]]) -> dict[str, float]:
    """Returns the median seconds of both slots together, by phase."""
    names = batches[-1]["seconds"]
    return {name: round(statistics.median(b["seconds"].get(name, 0) for b in batches), 3) for name in names}


def seconds_of(result: Any, part: str) -> float:
    first: float = result.batches[0]["seconds"].get(f"level 1 {part}", 0.0)
    return first


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000])
    arguments.add_argument("--batches", type=int, default=25)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    get_session(ps.Configuration({"spark.master": "local[2]", "spark.driver.memory": "6g"}))
    rates: dict[int, list[float]] = {size: [] for size in options.sizes}
    rows: dict[int, tuple[Any, ...]] = {}
    figures: dict[str, Any] = {}
    warm_up(min(options.sizes), options.batches)
    for turn in range(options.repeats):
        for size in options.sizes if turn % 2 == 0 else options.sizes[::-1]:
            scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
            with WorkerMemory() as memory:
                result = run(size, options.batches, scratch)
            found = measured_batches(result)
            rates[size].append(median_rate(found))
            written = statistics.median(b["delta_bytes"] for b in found)
            state = found[-1]["state_bytes"]
            rows[size] = (
                f"{size:,}",
                statistics.median(rates[size]),
                round(written / 1e6, 2),
                round(state / 1e6, 1),
                memory.peak >> 20,
            )
            print(
                f"round {turn + 1}: {rows[size]} {median_rate(found):,.0f}/s {time_by_phase(found)}",
                file=sys.stderr,
                flush=True,
            )
            figures["worker MiB"] = max(figures.get("worker MiB", 0), memory.peak >> 20)
            if size == max(options.sizes) and turn == options.repeats - 1:
                figures |= restarts(size, scratch, result)
            shutil.rmtree(scratch, ignore_errors=True)
    medians = {size: statistics.median(r) for size, r in rates.items()}
    measure.table(
        "state",
        ("keys", "events/s", "MB written per batch", "MB of state", "peak MiB of a worker"),
        list(rows.values()),
    )
    series = {"Penstock": ([float(s) for s in medians], list(medians.values()))}
    measure.lines("state", "50,000 random keys per batch", "keys", "events/s", series, log_x=True)
    largest, small = max(options.sizes), min((s for s in options.sizes if s >= 100_000), default=min(options.sizes))
    ratio = medians[largest] / medians[small]
    figures |= {f"{s} keys": m for s, m in medians.items()} | {"largest/100k": ratio}
    figures["written/changed"] = rows[largest][2] * 1e6 / (KEYS_PER_BATCH * (PAYLOAD + 20))
    targets = {"largest/100k": (ratio, 0.7), "worker MiB": (float(figures["worker MiB"]), 1024.0)}
    return measure.finish("state", figures, targets, lower_is_better=("worker MiB",))


def warm_up(size: int, batches: int) -> None:
    """Runs the job until the JVM has compiled the code that all later runs use."""
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    run(size, 3 * batches, scratch)
    shutil.rmtree(scratch, ignore_errors=True)


def restarts(size: int, scratch: Path, result: Any) -> dict[str, Any]:
    """Measures the time from the start of a resumed job to the end of its second batch, with and without the working copies."""
    began = time.monotonic()
    warm = run(size, 2, scratch, result.checkpoint)
    warm_seconds = time.monotonic() - began
    shutil.rmtree(scratch / "local")
    began = time.monotonic()
    cold = run(size, 2, scratch, result.checkpoint)
    cold_seconds = time.monotonic() - began
    return {
        "state MB": round(result.batches[-1]["state_bytes"] / 1e6, 1),
        "warm: catch up s": seconds_of(warm, "catch up"),
        "warm: two batches s": warm_seconds,
        "cold: catch up s": seconds_of(cold, "catch up"),
        "cold: two batches s": cold_seconds,
    }


if __name__ == "__main__":
    sys.exit(main())
