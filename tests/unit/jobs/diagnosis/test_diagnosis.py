"""Each rule at its thresholds, on histories that are healthy but for one thing."""

from __future__ import annotations

import pytest

from penstock.jobs.checkpoints import Checkpoint, Measured, SourcePart, Unfinished
from penstock.jobs.diagnosis import Diagnosis, diagnose
from penstock.jobs.diagnosis.evidence import LEAST, WARMING_UP
from penstock.jobs.diagnosis.storage import SLOW_LOGS
from penstock.time import MIN_WATERMARK
from tests.insight.made import BEGIN, Change, healthy, history, now


def said(change: Change | None = None, count: int = 20, since: int = 0, every: float = 1.0) -> Diagnosis:
    found = history(count, change, since, every)
    return diagnose(found, now(found))


def sleepy(c: Checkpoint) -> None:
    """An operator that takes 4 ms for an element."""
    c.operators[0].seconds, c.operators[0].slowest, c.measured.seconds = 4.0, 2.0, 2.4
    for task in c.tasks[2:]:
        task.run = 2.0


def test_a_healthy_job() -> None:
    found = said()
    assert (found.cause, found.findings, found.enough, found.checkpoints) == ("healthy", [], True, 17)


def test_too_few_checkpoints_say_nothing() -> None:
    def slow(c: Checkpoint) -> None:
        c.operators[0].slowest = c.operators[0].seconds = 0.4
        c.operators[0].records = c.operators[0].out = 10

    assert said(slow, WARMING_UP + LEAST).cause == "slow-function"
    few = said(slow, WARMING_UP + LEAST - 1)
    assert (few.cause, few.enough) == ("healthy", False)


def test_the_start_of_a_run_does_not_count() -> None:
    def starts(c: Checkpoint) -> None:
        if c.id < WARMING_UP:
            c.measured.logging, c.measured.seconds = 5.0, 16.0

    assert said(starts).cause == "healthy"


def test_a_job_with_long_checkpoints_is_judged_by_fewer() -> None:
    assert said(count=5, every=30.0).checkpoints == 4
    assert said(count=5, every=8.0).checkpoints == 2


def test_another_run_of_the_job_begins_anew() -> None:
    def slow(c: Checkpoint) -> None:
        c.measured.logging, c.measured.seconds = 2.0, 2.4

    before, after = history(20, slow), history(20)
    for c in after:
        c.id, c.run = c.id + 20, 2
    found = diagnose([*before, *after], now(after))
    assert (found.cause, found.checkpoints) == ("healthy", 20 - WARMING_UP)


@pytest.mark.parametrize(("per_element", "cause"), [(0.0004, "healthy"), (0.0006, "slow-function")])
def test_a_function_is_slow_by_what_an_element_takes(per_element: float, cause: str) -> None:
    def slow(c: Checkpoint) -> None:
        o = c.operators[0]
        o.seconds, o.slowest = o.records * per_element, o.records * per_element / 2
        c.measured.seconds = 0.3 + o.slowest

    found = said(slow)
    assert found.cause == cause
    if found.findings:
        assert found.findings[0].title == "The function of 'totals' is slow"
        assert "600 µs for an element" in found.findings[0].evidence[0]


def test_since_when() -> None:
    found = said(sleepy, since=12)
    assert found.cause == "slow-function"
    assert found.findings[0].since == BEGIN + 12


def test_a_sink_is_slow_by_its_share() -> None:
    def slow(c: Checkpoint) -> None:
        c.sinks[0].writing, c.sinks[0].committing, c.measured.seconds = 0.2, 0.3, 0.9

    found = said(slow)
    assert found.cause == "slow-sink"
    assert "'out' takes 200 ms and its commit 300 ms a checkpoint: 56% of the time" in found.findings[0].evidence[0]


def test_a_sink_s_function_in_a_chain_is_a_sink() -> None:
    def slow(c: Checkpoint) -> None:
        o = c.operators[0]
        o.uid, o.name = "o", "out"
        sleepy(c)

    assert said(slow).cause == "slow-sink"


def test_a_source_is_slow_by_what_a_record_takes() -> None:
    def slow(c: Checkpoint) -> None:
        c.sources[0].reading, c.tasks[0].run, c.measured.seconds = 1.0, 1.0, 1.4

    assert said(slow).cause == "slow-source"


@pytest.mark.parametrize(("seconds", "cause"), [(SLOW_LOGS - 0.1, "healthy"), (SLOW_LOGS + 0.1, "slow-storage")])
def test_storage_is_slow_by_two_small_files(seconds: float, cause: str) -> None:
    def slow(c: Checkpoint) -> None:
        c.measured.logging, c.measured.seconds = seconds, 0.35 + seconds
        c.interval = 2.0

    assert said(slow).cause == cause


@pytest.mark.parametrize(("written", "cause"), [(4000, "slow-storage"), (40_000_000, "too-much-state")])
def test_a_slow_store_is_told_from_much_state_by_bytes_a_second(written: int, cause: str) -> None:
    def slow(c: Checkpoint) -> None:
        c.measured.storing, c.measured.seconds = [0.9], 1.4
        for task in c.tasks[2:]:
            task.written_bytes, task.sync = written, 0.3
        c.operators[0].written_bytes = 2 * written

    found = said(slow)
    assert found.cause == cause
    if cause == "too-much-state":
        assert "80 MB of state, 80 KB for an element read; most of it by 'totals'" in found.findings[0].evidence[0]


@pytest.mark.parametrize(("share", "skew", "cause"), [(0.25, 1.4, "healthy"), (0.45, 1.4, "skewed-keys")])
def test_a_hot_key_is_named(share: float, skew: float, cause: str) -> None:
    def skewed(c: Checkpoint) -> None:
        o = c.operators[0]
        o.hot, o.skew, o.slowest, o.seconds = [("'anna'", share)], skew, 0.1, 0.12

    found = said(skewed)
    assert found.cause == cause
    if found.findings:
        assert found.findings[0].title == "The keys of 'totals' are skewed: 'anna' has 45%"


def test_a_skew_of_what_takes_no_time_does_no_harm() -> None:
    def skewed(c: Checkpoint) -> None:
        o = c.operators[0]
        o.hot, o.skew, o.slowest = [("'anna'", 0.9)], 1.9, 0.01

    assert said(skewed).cause == "healthy"


def test_few_keys_without_a_hot_one() -> None:
    def skewed(c: Checkpoint) -> None:
        c.operators[0].skew, c.operators[0].slowest = 3.5, 0.2

    found = said(skewed)
    assert found.cause == "skewed-keys"
    assert "no single key is hot" in found.findings[0].evidence[1]


def stalled(waits: float, done: int = 3) -> Diagnosis:
    found = history(20)
    current = Checkpoint(20, "in progress", acknowledged_tasks=done, all_tasks=4, measured=Measured(now(found)))
    current.waits_for = [Unfinished(1, 1, "node-3", waits)]
    return diagnose([*found, current], now(found) + waits)


def test_a_worker_that_stands_still() -> None:
    assert stalled(5).cause == "healthy"
    found = stalled(15)
    assert found.cause == "stalled-worker"
    assert found.findings[0].title == "A worker stands still: checkpoint 20 waits for slot 1 of level 1"
    assert (
        "3 of 4 tasks are done; slot 1 of level 1 on node-3 is not; its last worker was laptop:2"
        in found.findings[0].evidence[1]
    )


def test_a_long_batch_is_nothing_new_where_they_are_all_long() -> None:
    found = history(20, lambda c: setattr(c.measured, "seconds", 8.0), every=10.0)
    current = Checkpoint(20, "in progress", measured=Measured(now(found)), waits_for=[Unfinished(1, 1, "node-3", 15)])
    assert "stalled-worker" not in [f.cause for f in diagnose([*found, current], now(found) + 15).findings]


def test_a_worker_that_is_always_slower() -> None:
    def slower(c: Checkpoint) -> None:
        c.tasks[3].run, c.measured.seconds = 0.9, 1.2

    found = said(slower)
    assert found.cause == "stalled-worker"
    assert found.findings[0].title == "Worker laptop:2 is much slower than the others"


def test_checkpoints_that_fail() -> None:
    found = history(8)
    failed = Checkpoint(8, "failed", "[STORE] No space left on device\nmore", measured=Measured(now(found)))
    told = diagnose([*found, failed], now(found) + 1)
    assert told.cause == "failing-checkpoints"
    assert told.findings[0].evidence == ["checkpoint 8: [STORE] No space left on device"]
    later = history(320)[9:]
    assert diagnose([*found, failed, *later], now(later)).cause == "healthy"


@pytest.mark.parametrize(("interval", "cause"), [(0.0, "healthy"), (0.3, "short-interval"), (1.0, "healthy")])
def test_an_interval_is_too_short_when_what_a_checkpoint_costs_does_not_fit_into_it(
    interval: float, cause: str
) -> None:
    def hasty(c: Checkpoint) -> None:
        c.interval = interval
        for task in c.tasks:
            task.run = 0.01

    assert said(hasty).cause == cause


def behind(c: Checkpoint) -> None:
    c.sources[0].lag = 1000 * (c.id + 1)


def test_batches_that_are_too_small_are_told_from_too_much_to_do() -> None:
    def small(c: Checkpoint) -> None:
        behind(c)
        for task in c.tasks:
            task.run = 0.01

    def large(c: Checkpoint) -> None:
        behind(c)
        for task in c.tasks:
            task.run = 2.0
        c.measured.seconds = 4.5

    assert said(small).cause == "short-interval"
    found = said(large)
    assert found.cause == "backpressure"
    assert found.findings[0].evidence[0] == "source 'orders' is behind: 4,000 records waited, now 20,000"


def test_a_bounded_source_is_read_as_fast_as_it_goes() -> None:
    def read(c: Checkpoint) -> None:
        behind(c)
        c.sources[0].bounded = True

    assert said(read).cause == "healthy"


def test_a_source_that_does_not_know_its_lag_is_behind_when_batches_are_full() -> None:
    def full(c: Checkpoint) -> None:
        c.sources[0].lag, c.sources[0].full = None, True
        for task in c.tasks:
            task.run = 2.0
        c.measured.seconds = 4.5

    assert said(full).cause == "backpressure"


def held(c: Checkpoint, mark: int = MIN_WATERMARK, stands_since: int = 0) -> None:
    c.sources[0].mark = c.sources[0].highest = (1000 + c.id) * 1000
    own = mark if c.id >= stands_since else (1000 + c.id) * 1000
    c.sources.append(SourcePart("r", "refunds", split="p-3", mark=own, highest=own))
    c.operators[0].watermark = own


def test_a_silent_source_holds_event_time_back() -> None:
    found = said(held)
    assert found.cause == "idle-source"
    assert found.findings[0].title == "An idle source holds event time back: split p-3 of source 'refunds'"
    assert "it has never given a watermark" in found.findings[0].evidence[0]
    assert said(held, count=9).cause == "healthy"  # not long enough yet


def test_one_that_fell_silent() -> None:
    found = said(lambda c: held(c, 1005_000, 6))
    assert found.cause == "idle-source"
    assert found.findings[0].since == BEGIN + 5
    assert "others are 14 s ahead" in found.findings[0].evidence[0]


def test_when_all_are_silent_nobody_is_held_back() -> None:
    def silent(c: Checkpoint) -> None:
        held(c)
        c.sources[0].mark = c.sources[0].highest = 5000

    assert said(silent).cause == "healthy"


@pytest.mark.parametrize(
    ("files", "size", "cause"), [(60, 1000, "small-files"), (60, 500_000, "healthy"), (4, 1000, "healthy")]
)
def test_many_small_files(files: int, size: int, cause: str) -> None:
    def writes(c: Checkpoint) -> None:
        c.sinks[0].files, c.sinks[0].bytes = files, files * size

    assert said(writes).cause == cause


def test_a_checkpoint_of_many_small_files() -> None:
    found = said(lambda c: setattr(c.measured, "files", 400))
    assert found.cause == "small-files"
    assert found.findings[0].title == "The checkpoint has too many small files"


def test_the_cause_comes_first_and_what_is_beside_it_last() -> None:
    def both(c: Checkpoint) -> None:
        c.sinks[0].files, c.sinks[0].bytes = 60, 6000
        sleepy(c)

    assert [f.cause for f in said(both).findings] == ["slow-function", "small-files"]


def test_the_made_history_is_what_it_says() -> None:
    assert (round(healthy(0).work, 3), healthy(0).seconds) == (0.19, 0.4)


def test_a_job_that_waits_for_its_store() -> None:
    found = history(20)
    told = diagnose(found, now(found), "waits for the checkpoint store since 11:20:03: No space left on device")
    assert told.cause == "lost-storage"
    assert told.findings[0].evidence == ["it waits for the checkpoint store since 11:20:03: No space left on device"]
