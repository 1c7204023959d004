"""Savepoints of large state: the time to write them, to restore them, and to rescale from 2 slots to 4 and to 3.

Each size starts with a savepoint that is written without Spark. A job restores it with 2 slots, is stopped with a savepoint,
restored with 4 slots, stopped with another one, and restored with 3. A restore is measured from the start of the first batch to
its commit, when the state is in the working copies and in Spark's state store. A savepoint is measured from the request to the
published manifest. Rates are bytes of keys and values, divided by the seconds and by the number of cores that Spark uses.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure

import penstock as ps
from penstock.connectors import DiscardingSink
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.runtime.state.codec import codec_of
from penstock.runtime.state.keys import encode_key, key_group, key_hash
from penstock.runtime.state.tables import StateTable
from penstock.savepoints import SavedOperator, open_savepoint
from penstock.savepoints.evolution import DeclaredState
from penstock.savepoints.saved_job import SavedJob, SavepointInfo
from penstock.savepoints.slot_part import chunked_scan
from penstock.savepoints.writing import SlotContents, write_savepoint
from penstock.spark.engine import run_in_background
from penstock.spark.job.job import SparkJob
from penstock.spark.session.session import get_session

CORES = 2
GROUPS = 128
COUNTER = ps.ValueStateDescriptor("counter", ps.Types.TUPLE([ps.Types.LONG(), ps.Types.STRING()]))
PARALLELISMS = (2, 4, 3)


class UpdateCounter(ps.KeyedProcessFunction):
    """Stores a counter and a payload for each key."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.counter = runtime_context.get_state(COUNTER)

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        counter = self.counter.value()
        self.counter.update((1, "new") if counter is None else (counter[0] + 1, counter[1]))
        yield value, counter is None


def bootstrap(path: Path, megabytes: int, payload: int) -> int:
    """Writes a savepoint with state of a given size. Returns the number of keys."""
    rng = random.Random(7)
    pool = [rng.randbytes(payload // 2).hex() for _ in range(5000)]
    keys = megabytes * 1_000_000 // (payload + 16)
    by_group: list[list[bytes]] = [[] for _ in range(GROUPS)]
    for key in range(keys):
        encoded, _ = encode_key(key)
        by_group[key_group(key_hash(encoded), GROUPS)].append(encoded)
    codec = codec_of(COUNTER.value_type)
    values = [codec.encode((1, text)) for text in pool]
    table: StateTable = DeclaredState("counter", COUNTER).table(1, "counter")

    def scan(
        start: bytes, stop: bytes
    ) -> Iterator[tuple[bytes, bytes]]:  # ignores the range, because there is one table
        number = 0
        for group, encoded in enumerate(by_group):
            prefix = b"\x00\x01" + group.to_bytes(2, "big")
            for key in sorted(encoded):
                number += 1
                yield prefix + key, values[number * 7919 % 5000]

    job = SavedJob("bench", 1, GROUPS, [SavedOperator("counter", "counter", "process", True, 1)], [], [])
    meta = SlotMetadata(batch=1, now=int(time.time() * 1000), tables=[table])
    write_savepoint(str(path), job, [SlotContents(1, 0, meta, chunked_scan(scan))], SavepointInfo("bench", 0))
    return keys


def start(savepoint: str, scratch: Path, parallelism: int) -> SparkJob:
    """Starts a job that restores a savepoint and then has little input."""
    settings = {
        "execution.checkpointing.dir": str(scratch / "checkpoints"),
        "state.local.dir": str(scratch / "local"),
        "execution.state-recovery.path": savepoint,
        "execution.trigger.interval": 500,
    }
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(parallelism)
    numbers = env.from_generator(lambda n: n, rate=20)
    numbers.uid("numbers").key_by(lambda key: key).process(UpdateCounter()).uid("counter").sink_to(DiscardingSink())
    job = SparkJob(env.graph(f"restored with {parallelism}"), env.configuration, env.files)
    job.start()
    return job


def first_batch(job: SparkJob) -> dict[str, Any]:
    """Waits for the first batch and returns its report with its durations."""
    while True:
        assert job.query is not None
        if not job.query.isActive:
            raise SystemExit(f"The job failed: {job.query.exception()}")
        progress = {p["batchId"]: p["durationMs"] for p in job.query.recentProgress}
        reports = job.folder.reports.latest()
        if reports and 0 in progress:
            return {**reports[0].to_dict(), "millis": progress[0]}
        time.sleep(0.05)


def size_of(savepoint: str) -> tuple[int, int, int]:
    """Returns the bytes of keys and values, the bytes of files, and the number of entries."""
    manifest = open_savepoint(savepoint).manifest
    states = [state for operator in manifest.operators for state in operator.states]
    return sum(s.size for s in states), sum(f.size for f in manifest.files), sum(s.entries for s in states)


def run_size(megabytes: int, payload: int) -> list[dict[str, Any]]:
    """Runs all steps for one size. Returns one row per step."""
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    rows: list[dict[str, Any]] = []
    try:
        began = time.monotonic()
        keys = bootstrap(scratch / "first", megabytes, payload)
        print(
            f"{megabytes} MB: {keys:,} keys, written in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True
        )
        savepoint, before = str(scratch / "first"), 1
        for slots in PARALLELISMS:
            job = start(savepoint, scratch, slots)
            report = first_batch(job)
            size, files, entries = size_of(savepoint)
            rows.append(
                _row(
                    megabytes,
                    f"restore {before} -> {slots}",
                    size,
                    files,
                    entries,
                    report["millis"]["triggerExecution"] / 1000,
                )
            )
            print(
                rows[-1],
                {k: round(v, 1) for k, v in report["seconds"].items()},
                report["millis"],
                file=sys.stderr,
                flush=True,
            )
            client = run_in_background(job)
            time.sleep(3)
            began = time.monotonic()
            next_savepoint = client.stop_with_savepoint(False, str(scratch / "savepoints")).result()
            seconds = time.monotonic() - began
            size, files, entries = size_of(next_savepoint)
            rows.append(_row(megabytes, f"write, {slots} slots", size, files, entries, seconds))
            print(rows[-1], file=sys.stderr, flush=True)
            shutil.rmtree(savepoint, ignore_errors=True)
            shutil.rmtree(scratch / "local", ignore_errors=True)
            savepoint, before = next_savepoint, slots
            shutil.rmtree(job.checkpoint.folder, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return rows


def _row(megabytes: int, step: str, size: int, files: int, entries: int, seconds: float) -> dict[str, Any]:
    rate = size / 1e6 / seconds / CORES
    return {
        "size": megabytes,
        "step": step,
        "entries": entries,
        "state MB": round(size / 1e6, 1),
        "file MB": round(files / 1e6, 1),
        "seconds": round(seconds, 2),
        "MB/s per core": round(rate, 1),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000], help="megabytes of state")
    arguments.add_argument("--payload", type=int, default=1000, help="bytes of a value")
    options = arguments.parse_args()
    get_session(ps.Configuration({"spark.master": f"local[{CORES}]", "spark.driver.memory": "3g"}))
    run_size(20, options.payload)  # warm-up of the JVM
    rows = [row for size in options.sizes for row in run_size(size, options.payload)]
    head = tuple(rows[0])
    measure.table("savepoint", head, [tuple(row.values()) for row in rows])
    steps = list(dict.fromkeys(row["step"] for row in rows))
    series = {
        step: (
            [row["state MB"] for row in rows if row["step"] == step],
            [row["seconds"] for row in rows if row["step"] == step],
        )
        for step in steps
    }
    measure.lines("savepoint", "savepoints of large state", "MB of state", "seconds", series)
    slowest = {
        step: min(row["MB/s per core"] for row in rows if row["step"].startswith(step)) for step in ("write", "restore")
    }
    figures: dict[str, Any] = {f"{r['size']} MB, {r['step']}": r["MB/s per core"] for r in rows}
    return measure.finish(
        "savepoint", figures, {f"{step} MB/s per core": (rate, 40.0) for step, rate in slowest.items()}
    )


if __name__ == "__main__":
    sys.exit(main())
