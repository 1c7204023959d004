"""Savepoints of large state: how long they take to write and to restore, and to go from 2 slots to 4 and to 3.

Each size begins with a savepoint that is made outside of Spark. A job restores it with 2 slots, is stopped with a savepoint,
restored with 4 slots, stopped with another one, and restored with 3. A restore is measured from the first batch's start to its
commit: the state is then in the working copies and in Spark's state store. A savepoint is measured from the request to the
published manifest. Rates are bytes of keys and values by the seconds and by the cores of the machine that Spark was given.
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
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.codec import codec_of
from penstock.runtime.keys import encode_key, key_group, key_hash
from penstock.runtime.state.backend import Table
from penstock.savepoints import SavedOperator, open_savepoint
from penstock.savepoints.evolution import StateDescription
from penstock.savepoints.part import in_chunks
from penstock.savepoints.saved_job import JobFacts, SavedJob
from penstock.savepoints.whole import SlotSnapshot, write_savepoint
from penstock.spark.engine import run_in_background
from penstock.spark.job import SparkJob
from penstock.spark.session import get_session

CORES = 2
GROUPS = 128
KEPT = ps.ValueStateDescriptor("kept", ps.Types.TUPLE([ps.Types.LONG(), ps.Types.STRING()]))
WIDTHS = (2, 4, 3)


class Touch(ps.KeyedProcessFunction):
    """A counter and a payload of each key."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.kept = runtime_context.get_state(KEPT)

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        kept = self.kept.value()
        self.kept.update((1, "new") if kept is None else (kept[0] + 1, kept[1]))
        yield value, kept is None


def bootstrap(path: Path, megabytes: int, payload: int) -> int:
    """A savepoint of so much state; gives the number of keys."""
    chance = random.Random(7)
    pool = [chance.randbytes(payload // 2).hex() for _ in range(5000)]
    keys = megabytes * 1_000_000 // (payload + 16)
    by_group: list[list[bytes]] = [[] for _ in range(GROUPS)]
    for key in range(keys):
        encoded, _ = encode_key(key)
        by_group[key_group(key_hash(encoded), GROUPS)].append(encoded)
    codec = codec_of(KEPT.value_type)
    values = [codec.encode((1, text)) for text in pool]
    table: Table = StateDescription("kept", KEPT).table(1, "kept")

    def scan(start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:  # there is one table, so all of it
        number = 0
        for group, encoded in enumerate(by_group):
            prefix = b"\x00\x01" + group.to_bytes(2, "big")
            for key in sorted(encoded):
                number += 1
                yield prefix + key, values[number * 7919 % 5000]

    job = SavedJob("bench", 1, GROUPS, [SavedOperator("kept", "kept", "process", True, 1)], [], [])
    meta = SlotMeta(batch=1, now=int(time.time() * 1000), tables=[table])
    write_savepoint(str(path), job, [SlotSnapshot(1, 0, meta, in_chunks(scan))], JobFacts("bench", 0))
    return keys


def start(savepoint: str, scratch: Path, parallelism: int) -> SparkJob:
    """A job that restores a savepoint and then has little to do."""
    settings = {
        "execution.checkpointing.dir": str(scratch / "checkpoints"),
        "state.local.dir": str(scratch / "local"),
        "execution.state-recovery.path": savepoint,
        "execution.trigger.interval": 500,
    }
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(parallelism)
    numbers = env.from_generator(lambda n: n, rate=20)
    numbers.uid("numbers").key_by(lambda key: key).process(Touch()).uid("kept").sink_to(DiscardingSink())
    job = SparkJob(env.graph(f"restored with {parallelism}"), env.configuration, env.files)
    job.start()
    return job


def first_batch(job: SparkJob) -> dict[str, Any]:
    """The report of the first batch, with its time."""
    while True:
        assert job.query is not None
        if not job.query.isActive:
            raise SystemExit(f"the job failed: {job.query.exception()}")
        progress = {p["batchId"]: p["durationMs"] for p in job.query.recentProgress}
        reports = job.folder.reports.latest()
        if reports and 0 in progress:
            return {**reports[0], "millis": progress[0]}
        time.sleep(0.05)


def size_of(savepoint: str) -> tuple[int, int, int]:
    """Bytes of keys and values, of files, and entries."""
    manifest = open_savepoint(savepoint).manifest
    states = [state for operator in manifest.operators for state in operator.states]
    return sum(s.size for s in states), sum(f.size for f in manifest.files), sum(s.entries for s in states)


def one_size(megabytes: int, payload: int) -> list[dict[str, Any]]:
    """All steps at one size, as rows."""
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    rows: list[dict[str, Any]] = []
    try:
        began = time.monotonic()
        keys = bootstrap(scratch / "first", megabytes, payload)
        print(f"{megabytes} MB: {keys:,} keys, made in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        savepoint, before = str(scratch / "first"), 1
        for width in WIDTHS:
            job = start(savepoint, scratch, width)
            report = first_batch(job)
            size, files, entries = size_of(savepoint)
            rows.append(
                _row(
                    megabytes,
                    f"restore {before} -> {width}",
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
            taken = client.stop_with_savepoint(False, str(scratch / "savepoints")).result()
            seconds = time.monotonic() - began
            size, files, entries = size_of(taken)
            rows.append(_row(megabytes, f"write, {width} slots", size, files, entries, seconds))
            print(rows[-1], file=sys.stderr, flush=True)
            shutil.rmtree(savepoint, ignore_errors=True)
            shutil.rmtree(scratch / "local", ignore_errors=True)
            savepoint, before = taken, width
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
    one_size(20, options.payload)  # the JVM compiles what all later ones use
    rows = [row for size in options.sizes for row in one_size(size, options.payload)]
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
        what: min(row["MB/s per core"] for row in rows if row["step"].startswith(what)) for what in ("write", "restore")
    }
    figures: dict[str, Any] = {f"{r['size']} MB, {r['step']}": r["MB/s per core"] for r in rows}
    return measure.finish(
        "savepoint", figures, {f"{what} MB/s per core": (rate, 40.0) for what, rate in slowest.items()}
    )


if __name__ == "__main__":
    sys.exit(main())
