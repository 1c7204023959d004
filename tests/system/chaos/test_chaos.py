"""A short `make chaos`: one driver, one worker and the broker are killed, and another job runs in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.system.chaos import run
from tests.system.chaos.events import event, expected


@pytest.mark.spark
def test_every_sink_contains_exactly_the_expected_rows() -> None:
    planned = iter(["driver", "other job", "broker killed"])
    line = run.run_chaos(
        40_000, 4, seed=1, small_disk=False, per_batch=5_000, choose=lambda rng: next(planned, "worker")
    )
    assert line["correct"], json.dumps(line)
    assert line["kinds"] == {"driver": 1, "other job": 1, "broker killed": 1, "worker": 1}


def test_the_expected_rows_contain_every_event() -> None:
    running, windows = expected(30_000)
    assert sum(int(row.split(",")[2]) for row in windows.elements()) == 30_000
    assert sum(int(row.split(",")[3]) for row in windows.elements()) == sum(event(n)[1] for n in range(30_000))
    assert len(running) == running.total() >= 2_000
    assert Path(run.JOB).exists()
