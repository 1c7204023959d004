"""Ten savepoints of a running job with 20,000 events per second and 1 million keys, compared with the same job without savepoints.

Both jobs first write all keys, then process a fixed number of events at the given rate. The throughput is that number divided by
the time until the last event is committed. If a job keeps up, its throughput equals the rate, so the duration of batches is also
reported. The output of both jobs must be the same, event by event.
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
from touched_keys import TouchedKeys, UpdateCounter

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.connectors.source import Offset
from penstock.errors import PenstockError
from penstock.savepoints import open_savepoint
from penstock.spark.session.session import get_session

FILL = 250_000
SAVEPOINTS = 10
MAX_LOSS = 0.25  # of throughput


class PacedKeys(TouchedKeys):
    """Reads all keys once in large batches, then random keys at a fixed rate."""

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
    """Samples the number of committed events while a job runs."""

    def __init__(self, client: ps.JobClient) -> None:
        self._client = client
        self.samples: list[tuple[float, int]] = []
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._running:
            self._sample()
            time.sleep(0.05)

    def _sample(self) -> None:
        count = self._client.get_accumulators().result().get("keys.numRecordsOut", 0)
        if not self.samples or count != self.samples[-1][1]:
            self.samples.append((time.monotonic(), count))

    def end(self) -> None:
        self._running = False
        self._thread.join()
        self._sample()


def run(name: str, scratch: Path, options: argparse.Namespace, savepoints: int) -> dict[str, Any]:
    events = options.rate * options.seconds
    folder = scratch / name
    settings = {"execution.checkpointing.dir": str(folder / "checkpoints"), "state.local.dir": str(folder / "local")}
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)
    source = PacedKeys(options.keys, options.rate, events)
    counts = env.from_source(source, None, "keys").key_by(lambda k: k).process(UpdateCounter()).uid("counter")
    counts.filter(lambda pair: pair[1] > 1).sink_to(JsonLinesSink(folder / "out")).uid("out")
    client = env.execute_async(name)
    progress = Progress(client)
    written = _write_savepoints(client, progress, folder, options, savepoints)
    result = client.get_job_execution_result().result()
    progress.end()
    began = next(at for at, count in progress.samples if count >= options.keys)
    ended = progress.samples[-1][0]
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
        "savepoints": written,
    }


def _write_savepoints(
    client: ps.JobClient, progress: Progress, folder: Path, options: argparse.Namespace, number: int
) -> list[tuple[float, int]]:
    """Writes savepoints at regular intervals during the run. Returns the seconds and bytes of each."""
    while not progress.samples or progress.samples[-1][1] < options.keys:
        time.sleep(0.1)
    began = time.monotonic()
    written = []
    for turn in range(number):
        time.sleep(max(0.0, began + (turn + 0.5) * options.seconds / number - time.monotonic()))
        requested = time.monotonic()
        try:
            path = client.trigger_savepoint(str(folder / "saved")).result()
        except PenstockError as error:
            raise SystemExit(f"savepoint {turn + 1} failed: {error}") from error
        written.append((time.monotonic() - requested, open_savepoint(path).size))
        savepoint = open_savepoint(path)
        keys = next(s.entries for o in savepoint.manifest.operators for s in o.states if s.name == "counter")
        if keys != options.keys:
            raise SystemExit(f"savepoint {turn + 1} has {keys} keys, expected {options.keys}")
        shutil.rmtree(path)
        print(f"savepoint {turn + 1}: {written[-1][0]:.1f} s, {written[-1][1]:,} bytes", file=sys.stderr, flush=True)
    return written


def _outputs(folder: Path) -> tuple[str, int]:
    """Returns a digest of all lines that does not depend on their order, and their number."""
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
    parser.add_argument("--rate", type=int, default=20_000, help="events per second")
    parser.add_argument("--seconds", type=int, default=120, help="duration of the events, after all keys are written")
    options = parser.parse_args()
    get_session(ps.Configuration({"spark.master": "local[2]", "spark.driver.memory": "3g"}))
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        calm = run("calm", scratch, options, 0)
        busy = run("busy", scratch, options, SAVEPOINTS)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    head = ("job", "events/s", "batch, median s", "longest s", "savepoint, median s", "bytes per savepoint")
    seconds, sizes = zip(*busy["savepoints"], strict=True)
    measure.table(
        "savepoints_running",
        head,
        [
            ("without savepoints", f"{calm['rate']:,.0f}", f"{calm['batch']:.2f}", f"{calm['longest']:.2f}", "", ""),
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
    same = float(calm["digest"] == busy["digest"] and calm["lines"] == busy["lines"] == options.rate * options.seconds)
    figures = {
        "keys": options.keys,
        "seconds": options.seconds,
        "calm": calm["rate"],
        "busy": busy["rate"],
        "calm_batch": calm["batch"],
        "busy_batch": busy["batch"],
        "savepoint_seconds": [round(s, 2) for s in seconds],
        "savepoint_bytes": statistics.median(sizes),
        "lines": busy["lines"],
    }
    share = busy["rate"] / calm["rate"]
    targets = {"throughput kept": (share, 1 - MAX_LOSS), "results equal": (same, 1.0)}
    return measure.finish("savepoints_running", figures, targets)


if __name__ == "__main__":
    raise SystemExit(main())
