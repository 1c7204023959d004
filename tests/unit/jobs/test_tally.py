"""Reports of batches become figures."""

from __future__ import annotations

from penstock.jobs.progress import OperatorFigures
from penstock.jobs.tally import Tally
from tests.jobs_registry.jobs import report


def tally() -> Tally:
    return Tally(
        [OperatorFigures("s", "numbers", "source"), OperatorFigures("w", "window", "operator"),
         OperatorFigures("out", "print", "sink")],
        now=100.0,
    )  # fmt: skip


def test_counts_add_up() -> None:
    found = tally()
    found.add(report(0, 10, 2, watermarks={"w": 7}), now=101.0)
    flows = {"s": [0, 5], "w": [5, 4], "out": [1, 0], "gone": [9, 9]}
    found.add(report(1, flows=flows, late={"w": 3}, watermarks={"w": 9}, state_bytes=7), now=102.0)
    progress = found.progress
    assert (progress.batches, progress.read, progress.written, progress.late) == (2, 15, 3, 3)
    assert (progress.watermark, progress.state_bytes) == (9, 7)
    window = progress.operators[1]
    assert (window.records_in, window.records_out, window.late, window.watermark) == (5, 4, 3, 9)
    assert [(b.batch, b.read, b.written, b.late) for b in progress.recent] == [(0, 10, 2, 0), (1, 5, 1, 3)]


def test_what_was_put_aside_and_skipped() -> None:
    found = tally()
    for batch in range(2):
        found.add({**report(batch, 10), "dead": {"s": 1, "w": 2}, "skipped": {"s": 4}}, now=101.0 + batch)
    assert (found.progress.dead, found.progress.skipped) == (6, 8)
    assert [(o.dead, o.skipped) for o in found.progress.operators] == [(2, 8), (4, 0), (0, 0)]


def test_rates_are_those_of_the_last_seconds() -> None:
    found = tally()
    found.add(report(0, 100), now=101.0)
    assert found.progress.read_rate == 100.0
    for second in range(2, 40):
        found.add(report(second, 10), now=100.0 + second)
    assert found.progress.read_rate == 10.0


def test_a_long_batch_has_a_rate_until_the_next_one_is_due() -> None:
    found = tally()
    found.add(report(0, 3000), now=130.0)
    assert found.progress.read_rate == 100.0
    found.refresh(now=135.0)
    assert found.progress.read_rate == 100.0


def test_without_new_records_rates_go_down() -> None:
    found = tally()
    found.add(report(0, 100), now=101.0)
    found.refresh(now=105.0)
    assert found.progress.read_rate == 100.0
    found.refresh(now=120.0)
    assert found.progress.read_rate == 5.0
    found.refresh(now=2100.0)
    assert found.progress.read_rate == 0.1


def test_only_the_last_batches_are_kept_and_measured_later() -> None:
    found = tally()
    for number in range(50):
        found.add(report(number, 1), now=101.0 + number)
    assert [b.batch for b in found.progress.recent] == list(range(30, 50))
    assert found.progress.batch_millis is None
    found.measured({48: 250, 3: 1})
    assert found.progress.batch_millis == 250
