"""The checkpoint store is away for as long as an outage takes: the job waits, grows by nothing, and ends right.

`PENSTOCK_STORE_AWAY_MINUTES=60 pytest -m long tests/faults/test_store_away_long.py` stages the hour; two minutes are the default.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.faults.disturbed import DisturbedJob

pytestmark = [pytest.mark.spark, pytest.mark.long]

MINUTES = float(os.environ.get("PENSTOCK_STORE_AWAY_MINUTES", "2"))
_SETTLED = 0.25  # of the time, after which nothing may grow any more
_MORE_THREADS = 20
_MORE_MEMORY = 300 << 20  # bytes; a JVM takes what it is given between two collections
_MORE_LOG = 4 << 20  # bytes


class Size:
    """What a job takes: threads and memory of its processes, bytes of its log."""

    def __init__(self, job: DisturbedJob) -> None:
        assert job.process is not None
        self.threads = self.memory = 0
        for pid, _ in job.process.members():
            try:
                status = dict(
                    line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
                )
            except OSError:  # it has ended
                continue
            self.threads += int(status.get("Threads", "0"))
            self.memory += int(status.get("VmRSS", "0 kB").split()[0]) << 10
        self.log = job.process.log.stat().st_size


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("Connection refused", {"write": "Connection refused", "read": "Connection refused"}),
        ("No space left on device", {"write": "No space left on device"}),
        ("does not end", {"hang": True}),
    ],
    ids=["unreachable", "full", "silent"],
)
def test_a_store_that_is_away_for_long(tmp_path: Path, says: str, fault: dict[str, object]) -> None:
    job = DisturbedJob(tmp_path)
    try:
        job.start()
        job.wait_for_batches(3)
        job.store.command(**fault)
        words = job.wait_until(lambda: (entry := job.entry()) and entry.waits)
        assert says in words
        before, began, settled = job.batches(), time.monotonic(), None
        while (passed := (time.monotonic() - began) / 60) < MINUTES:
            time.sleep(1)
            entry = job.entry()
            assert entry is not None
            assert entry.waits.startswith("waits for the checkpoint store since "), (passed, entry)
            assert job.batches() == before
            if settled is None and passed >= MINUTES * _SETTLED:
                settled = Size(job)
        assert settled is not None
        now = Size(job)
        print(f"{MINUTES} minutes, from {settled.__dict__} to {now.__dict__}")
        assert now.threads <= settled.threads + _MORE_THREADS
        assert now.memory <= settled.memory + _MORE_MEMORY
        assert now.log <= settled.log + _MORE_LOG
        job.store.heal()
        job.wait_until(lambda: job.batches() > before + 1)
        job.wait_until(lambda: (entry := job.entry()) and not entry.waits, seconds=60)
        job.ends_right()
    finally:
        job.kill()
