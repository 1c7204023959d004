"""Ten savepoints of a running job: 20,000 events a second on 1 million keys, beside the same job that nobody disturbs.

Both jobs first write all keys, then take events at the rate until a number of them is done. Their throughput is that number by
the time until the last one is committed. A job that keeps up has the rate itself; so the time that batches take is told too.
What both wrote must be the same, event by event.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import measure
from touched_keys import Touch, TouchedKeys

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.connectors.source import Offset
from penstock.errors import PenstockError
from penstock.savepoints import open_savepoint
from penstock.spark.session import get_session

FILL = 250_000
SAVEPOINTS = 10
MOST_LOST = 0.25


class PacedKeys(TouchedKeys):
    """All keys once in large batches, then random ones at a rate."""

    def __init__(self, keys: int, rate: int, events: int) -> None:
        super().__init__(keys, events)
        self._rate = rate
        self._began: float | None = None

    def latest(self, start: Offset) -> Offset:
        assert self.count is not None
        n = start["n"]
        if n < self.keys:
            return {"n": min(self.keys, n + FILL)}
        if self._began is None:
            self._began = time.monotonic()
        due = self.keys + int((time.monotonic() - self._began) * self._rate)
        return {"n": max(n, min(self.count, due))}


class Progress:
    """When how many events were committed, looked at while a job runs."""

    def __init__(self, client: ps.JobClient) -> None:
        self._client = client
        self.seen: list[tuple[float, int]] = []
        self._on = True
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._on:
            self.look()
            time.sleep(0.05)

    def look(self) -> None:
        count = self._client.get_accumulators().result().get("keys.numRecordsOut", 0)
        if not self.seen or count != self.seen[-1][1]:
            self.seen.append((time.monotonic(), count))

    def end(self) -> None:
        self._on = False
        self._thread.join()
        self.look()


def run(name: str, scratch: Path, given: argparse.Namespace, savepoints: int) -> dict[str, Any]:
    events = given.rate * given.seconds
    folder = scratch / name
    settings = {"execution.checkpointing.dir": str(folder / "checkpoints"), "state.local.dir": str(folder / "local")}
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)
    source = PacedKeys(given.keys, given.rate, events)
    touched = env.from_source(source, None, "keys").key_by(lambda k: k).process(Touch()).uid("touch")
    touched.filter(lambda told: told[1] > 1).sink_to(JsonLinesSink(folder / "out")).uid("out")
    client = env.execute_async(name)
    progress = Progress(client)
    taken = _savepoints(client, progress, folder, given, savepoints)
    result = client.get_job_execution_result().result()
    progress.end()
    began = next(at for at, count in progress.seen if count >= given.keys)
    ended = progress.seen[-1][0]
    batches = [
        b["millis"]["triggerExecution"] / 1000
        for b in result.batches
        if b["millis"] and 0 < sum(b["read"].values()) < FILL
    ]
    digest, lines = _outputs(folder / "out")
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "rate": events / (ended - began),
        "batch": statistics.median(batches),
        "longest": max(batches),
        "digest": digest,
        "lines": lines,
        "savepoints": taken,
    }


def _savepoints(
    client: ps.JobClient, progress: Progress, folder: Path, given: argparse.Namespace, number: int
) -> list[tuple[float, int]]:
    """Takes savepoints evenly over the run; gives the seconds and bytes of each."""
    while not progress.seen or progress.seen[-1][1] < given.keys:
        time.sleep(0.1)
    began = time.monotonic()
    taken = []
    for turn in range(number):
        time.sleep(max(0.0, began + (turn + 0.5) * given.seconds / number - time.monotonic()))
        asked = time.monotonic()
        try:
            path = client.trigger_savepoint(str(folder / "saved")).result()
        except PenstockError as error:
            raise SystemExit(f"savepoint {turn + 1} failed: {error}") from error
        taken.append((time.monotonic() - asked, open_savepoint(path).size))
        savepoint = open_savepoint(path)
        kept = next(s.entries for o in savepoint.manifest.operators for s in o.states if s.name == "kept")
        if kept != given.keys:
            raise SystemExit(f"savepoint {turn + 1} holds {kept} keys")
        shutil.rmtree(path)
        print(f"savepoint {turn + 1}: {taken[-1][0]:.1f} s, {taken[-1][1]:,} bytes", file=sys.stderr, flush=True)
    return taken


def _outputs(folder: Path) -> tuple[str, int]:
    """A digest of all lines, whatever their order, and their number."""
    lines = [
        line
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith((".", "_"))
        for line in file.open()
    ]
    lines.sort()
    return hashlib.sha256("".join(lines).encode()).hexdigest(), len(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=20_000, help="events a second")
    parser.add_argument("--seconds", type=int, default=120, help="of events, after all keys are there")
    given = parser.parse_args()
    get_session(ps.Configuration({"spark.master": "local[2]", "spark.driver.memory": "3g"}))
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        calm = run("calm", scratch, given, 0)
        busy = run("busy", scratch, given, SAVEPOINTS)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    head = ("job", "events/s", "batch, median s", "longest s", "savepoint, median s", "bytes of one")
    seconds, sizes = zip(*busy["savepoints"], strict=True)
    measure.table(
        "savepoints_running",
        head,
        [
            ("undisturbed", f"{calm['rate']:,.0f}", f"{calm['batch']:.2f}", f"{calm['longest']:.2f}", "", ""),
            (
                f"with {SAVEPOINTS} savepoints",
                f"{busy['rate']:,.0f}",
                f"{busy['batch']:.2f}",
                f"{busy['longest']:.2f}",
                f"{statistics.median(seconds):.2f}",
                f"{statistics.median(sizes):,.0f}",
            ),
        ],
    )
    same = float(calm["digest"] == busy["digest"] and calm["lines"] == busy["lines"] == given.rate * given.seconds)
    figures = {
        "keys": given.keys,
        "seconds": given.seconds,
        "calm": calm["rate"],
        "busy": busy["rate"],
        "calm_batch": calm["batch"],
        "busy_batch": busy["batch"],
        "savepoint_seconds": [round(s, 2) for s in seconds],
        "savepoint_bytes": statistics.median(sizes),
        "lines": busy["lines"],
    }
    share = busy["rate"] / calm["rate"]
    targets = {"throughput kept": (share, 1 - MOST_LOST), "results equal": (same, 1.0)}
    return measure.finish("savepoints_running", figures, targets)


if __name__ == "__main__":
    raise SystemExit(main())
