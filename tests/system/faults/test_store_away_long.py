"""Checkpoint storage is unavailable for a long time. The job waits, its resource use does not grow, and it ends correctly.

`PENSTOCK_STORE_AWAY_MINUTES=60 pytest -m long tests/system/faults/test_store_away_long.py`
runs the test for an hour. The default is two minutes.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.system.faults.disturbed import DisturbedJob

pytestmark = [pytest.mark.spark, pytest.mark.long]

MINUTES = float(os.environ.get("PENSTOCK_STORE_AWAY_MINUTES", "2"))
_SETTLED_AFTER = 0.25  # the share of the time after which resource use must not grow
_MORE_THREADS = 20
_MORE_MEMORY = 300 << 20  # bytes; the memory of a JVM grows between two garbage collections
_MORE_LOG = 4 << 20  # bytes


class ResourceUse:
    """The threads and the memory of the processes of a job, and the size of its log."""

    def __init__(self, job: DisturbedJob) -> None:
        assert job.process is not None
        self.threads = self.memory = 0
        for pid, _ in job.process.members():
            try:
                status = dict(
                    line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
                )
            except OSError:  # the process has ended
                continue
            self.threads += int(status.get("Threads", "0"))
            self.memory += int(status.get("VmRSS", "0 kB").split()[0]) << 10
        self.log = job.process.log.stat().st_size


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("Connection refused", {"write": "Connection refused", "read": "Connection refused"}),
        ("No space left on device", {"write": "No space left on device"}),
        ("does not end", {"hang": True}),
    ],
    ids=["unreachable", "full", "silent"],
)
def test_storage_that_is_unavailable_for_long(tmp_path: Path, reason: str, fault: dict[str, object]) -> None:
    job = DisturbedJob(tmp_path)
    try:
        job.start()
        job.wait_for_batches(3)
        job.store.command(**fault)
        message = job.wait_until(lambda: (entry := job.entry()) and entry.waits)
        assert reason in message
        before, began, settled = job.batches(), time.monotonic(), None
        while (passed := (time.monotonic() - began) / 60) < MINUTES:
            time.sleep(1)
            entry = job.entry()
            assert entry is not None
            assert entry.waits.startswith("waits for checkpoint storage since "), (passed, entry)
            assert job.batches() == before
            if settled is None and passed >= MINUTES * _SETTLED_AFTER:
                settled = ResourceUse(job)
        assert settled is not None
        now = ResourceUse(job)
        print(f"{MINUTES} minutes, from {settled.__dict__} to {now.__dict__}")
        assert now.threads <= settled.threads + _MORE_THREADS
        assert now.memory <= settled.memory + _MORE_MEMORY
        assert now.log <= settled.log + _MORE_LOG
        job.store.heal()
        job.wait_until(lambda: job.batches() > before + 1)
        job.wait_until(lambda: (entry := job.entry()) and not entry.waits)
        job.check_result()
    finally:
        job.kill()
