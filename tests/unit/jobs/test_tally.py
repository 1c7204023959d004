"""Batch reports are summed up to the progress of a run."""

from __future__ import annotations

from penstock.jobs.registry.batch_report import RecordCounts
from penstock.jobs.registry.progress import OperatorProgress
from penstock.jobs.run.tally import Tally
from tests.unit.jobs.jobs import report


def new_tally() -> Tally:
    return Tally(
        [OperatorProgress("s", "numbers", "source"), OperatorProgress("w", "window", "operator"),
         OperatorProgress("out", "print", "sink")],
        now=100.0,
    )  # fmt: skip


def test_counts_add_up() -> None:
    tally = new_tally()
    tally.add(report(0, 10, 2, watermarks={"w": 7}), now=101.0)
    flows = {"s": RecordCounts(0, 5), "w": RecordCounts(5, 4), "out": RecordCounts(1, 0), "gone": RecordCounts(9, 9)}
    tally.add(report(1, flows=flows, late={"w": 3}, watermarks={"w": 9}, state_bytes=7, state_log_bytes=90), now=102.0)
    progress = tally.progress
    assert (progress.batches, progress.read, progress.written, progress.late) == (2, 15, 3, 3)
    assert (progress.watermark, progress.state_bytes, progress.state_log_bytes) == (9, 7, 90)
    assert (progress.recent[-1].state_bytes, progress.recent[-1].state_log_bytes) == (7, 90)
    window = progress.operators[1]
    assert (window.records_in, window.records_out, window.late, window.watermark) == (5, 4, 3, 9)
    assert [(b.batch, b.read, b.written, b.late) for b in progress.recent] == [(0, 10, 2, 0), (1, 5, 1, 3)]


def test_dead_letters_and_skipped_records_are_counted() -> None:
    tally = new_tally()
    for batch in range(2):
        tally.add(report(batch, 10, dead_letters={"s": 1, "w": 2}, skipped={"s": 4}), now=101.0 + batch)
    assert (tally.progress.dead, tally.progress.skipped) == (6, 8)
    assert [(o.dead, o.skipped) for o in tally.progress.operators] == [(2, 8), (4, 0), (0, 0)]


def test_rates_are_computed_over_the_last_seconds() -> None:
    tally = new_tally()
    tally.add(report(0, 100), now=101.0)
    assert tally.progress.read_rate == 100.0
    for second in range(2, 40):
        tally.add(report(second, 10), now=100.0 + second)
    assert tally.progress.read_rate == 10.0


def test_a_long_batch_has_a_rate_until_the_next_one_is_due() -> None:
    tally = new_tally()
    tally.add(report(0, 3000), now=130.0)
    assert tally.progress.read_rate == 100.0
    tally.refresh(now=135.0)
    assert tally.progress.read_rate == 100.0


def test_rates_fall_without_new_records() -> None:
    tally = new_tally()
    tally.add(report(0, 100), now=101.0)
    tally.refresh(now=105.0)
    assert tally.progress.read_rate == 100.0
    tally.refresh(now=120.0)
    assert tally.progress.read_rate == 5.0
    tally.refresh(now=2100.0)
    assert tally.progress.read_rate == 0.1


def test_only_the_last_batches_are_listed_and_get_their_durations_later() -> None:
    tally = new_tally()
    for number in range(50):
        tally.add(report(number, 1), now=101.0 + number)
    assert [b.batch for b in tally.progress.recent] == list(range(30, 50))
    assert tally.progress.batch_millis is None
    tally.set_batch_millis({48: 250, 3: 1})
    assert tally.progress.batch_millis == 250
