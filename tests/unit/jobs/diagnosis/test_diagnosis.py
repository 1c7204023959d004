"""Each rule at its thresholds, on histories that are healthy except for one change."""

from __future__ import annotations

import pytest

from penstock.jobs.diagnosis import Diagnosis, diagnose
from penstock.jobs.diagnosis.evidence import ENOUGH, WARM_UP
from penstock.jobs.diagnosis.storage import SLOW_LOGS
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SourceStats, SparkTimings, UnfinishedTask
from penstock.time import MIN_WATERMARK
from tests.unit.jobs.diagnosis.synthetic import BEGIN, Change, healthy, history, now


def diagnose_change(change: Change | None = None, count: int = 20, since: int = 0, every: float = 1.0) -> Diagnosis:
    found = history(count, change, since, every)
    return diagnose(found, now(found))


def sleep_in_function(c: CheckpointStats) -> None:
    """An operator that takes 4 ms for an element."""
    c.operators[0].seconds, c.operators[0].slowest, c.measured.seconds = 4.0, 2.0, 2.4
    for task in c.tasks[2:]:
        task.run = 2.0


def test_a_healthy_job() -> None:
    found = diagnose_change()
    assert (found.cause, found.findings, found.enough, found.checkpoints) == ("healthy", [], True, 17)


def test_too_few_checkpoints_have_no_findings() -> None:
    def slow(c: CheckpointStats) -> None:
        c.operators[0].slowest = c.operators[0].seconds = 0.4
        c.operators[0].records = c.operators[0].out = 10

    assert diagnose_change(slow, WARM_UP + ENOUGH).cause == "slow-function"
    few = diagnose_change(slow, WARM_UP + ENOUGH - 1)
    assert (few.cause, few.enough) == ("healthy", False)


def test_the_warm_up_of_a_run_is_ignored() -> None:
    def starts(c: CheckpointStats) -> None:
        if c.id < WARM_UP:
            c.measured.logging, c.measured.seconds = 5.0, 16.0

    assert diagnose_change(starts).cause == "healthy"


def test_long_checkpoints_are_judged_by_fewer() -> None:
    assert diagnose_change(count=5, every=30.0).checkpoints == 4
    assert diagnose_change(count=5, every=8.0).checkpoints == 2


def test_only_the_latest_run_is_examined() -> None:
    def slow(c: CheckpointStats) -> None:
        c.measured.logging, c.measured.seconds = 2.0, 2.4

    before, after = history(20, slow), history(20)
    for c in after:
        c.id, c.run = c.id + 20, 2
    found = diagnose([*before, *after], now(after))
    assert (found.cause, found.checkpoints) == ("healthy", 20 - WARM_UP)


@pytest.mark.parametrize(("per_element", "cause"), [(0.0004, "healthy"), (0.0006, "slow-function")])
def test_a_slow_function_is_judged_by_the_time_per_element(per_element: float, cause: str) -> None:
    def slow(c: CheckpointStats) -> None:
        o = c.operators[0]
        o.seconds, o.slowest = o.records * per_element, o.records * per_element / 2
        c.measured.seconds = 0.3 + o.slowest

    found = diagnose_change(slow)
    assert found.cause == cause
    if found.findings:
        assert found.findings[0].title == "The function of 'totals' is slow"
        assert "600 µs for an element" in found.findings[0].evidence[0]


def test_since_is_the_first_affected_checkpoint() -> None:
    found = diagnose_change(sleep_in_function, since=12)
    assert found.cause == "slow-function"
    assert found.findings[0].since == BEGIN + 12


def test_a_slow_sink_is_judged_by_its_share() -> None:
    def slow(c: CheckpointStats) -> None:
        c.sinks[0].writing, c.sinks[0].committing, c.measured.seconds = 0.2, 0.3, 0.9

    found = diagnose_change(slow)
    assert found.cause == "slow-sink"
    assert "'out' takes 200 ms and its commit 300 ms per checkpoint, 56% of the time" in found.findings[0].evidence[0]


def test_a_slow_sink_in_a_chain_is_a_slow_sink() -> None:
    def slow(c: CheckpointStats) -> None:
        o = c.operators[0]
        o.uid, o.name = "o", "out"
        sleep_in_function(c)

    assert diagnose_change(slow).cause == "slow-sink"


def test_a_slow_source_is_judged_by_the_time_per_record() -> None:
    def slow(c: CheckpointStats) -> None:
        c.sources[0].reading, c.tasks[0].run, c.measured.seconds = 1.0, 1.0, 1.4

    assert diagnose_change(slow).cause == "slow-source"


@pytest.mark.parametrize(("seconds", "cause"), [(SLOW_LOGS - 0.1, "healthy"), (SLOW_LOGS + 0.1, "slow-storage")])
def test_slow_storage_is_judged_by_the_two_small_logs(seconds: float, cause: str) -> None:
    def slow(c: CheckpointStats) -> None:
        c.measured.logging, c.measured.seconds = seconds, 0.35 + seconds
        c.interval = 2.0

    assert diagnose_change(slow).cause == cause


def wait_for_cpu(c: CheckpointStats, share: float) -> None:
    """All parts of a checkpoint take long, because threads wait for a CPU."""
    c.measured.logging, c.measured.storing, c.measured.seconds = 0.7, [0.8], 2.4
    c.interval = 4.0
    for task in c.tasks[2:]:
        task.cpu_seconds, task.cpu_wait = 0.05, 0.05 * share / (1 - share)


@pytest.mark.parametrize(("share", "cause"), [(0.1, "slow-storage"), (0.8, "overloaded-machine")])
def test_a_slow_machine_is_not_slow_storage(share: float, cause: str) -> None:
    found = diagnose_change(lambda c: wait_for_cpu(c, share))
    assert [f.cause for f in found.findings] == [cause]
    if cause == "overloaded-machine":
        assert "and waited for a CPU for 80% of it" in found.findings[0].evidence[0]


def test_slow_storage_is_found_on_a_slow_machine_too() -> None:
    def slow(c: CheckpointStats) -> None:
        wait_for_cpu(c, 0.6)
        c.measured.logging, c.measured.seconds = 3.0, 4.5

    assert [f.cause for f in diagnose_change(slow).findings] == ["overloaded-machine", "slow-storage"]


def test_a_fast_job_on_a_slow_machine_is_healthy() -> None:
    def wait(c: CheckpointStats) -> None:
        for task in c.tasks:
            task.cpu_seconds, task.cpu_wait = 0.01, 0.03

    assert diagnose_change(wait).cause == "healthy"


@pytest.mark.parametrize(("written", "cause"), [(4000, "slow-storage"), (40_000_000, "too-much-state")])
def test_slow_storage_and_much_state_differ_in_bytes_per_second(written: int, cause: str) -> None:
    def slow(c: CheckpointStats) -> None:
        c.measured.storing, c.measured.seconds = [0.9], 1.4
        for task in c.tasks[2:]:
            task.written_bytes, task.sync = written, 0.3
        c.operators[0].written_bytes = 2 * written

    found = diagnose_change(slow)
    assert found.cause == cause
    if cause == "too-much-state":
        assert "80 MB of state, 80 KB for an element read; most of it by 'totals'" in found.findings[0].evidence[0]


@pytest.mark.parametrize(("share", "skew", "cause"), [(0.25, 1.4, "healthy"), (0.45, 1.4, "skewed-keys")])
def test_a_hot_key_is_named(share: float, skew: float, cause: str) -> None:
    def skewed(c: CheckpointStats) -> None:
        o = c.operators[0]
        o.hot, o.skew, o.slowest, o.seconds = [("'anna'", share)], skew, 0.1, 0.12

    found = diagnose_change(skewed)
    assert found.cause == cause
    if found.findings:
        assert found.findings[0].title == "The keys of 'totals' are skewed: 'anna' has 45%"


def test_a_skew_of_a_fast_operator_is_ignored() -> None:
    def skewed(c: CheckpointStats) -> None:
        o = c.operators[0]
        o.hot, o.skew, o.slowest = [("'anna'", 0.9)], 1.9, 0.01

    assert diagnose_change(skewed).cause == "healthy"


def test_skew_without_a_hot_key() -> None:
    def skewed(c: CheckpointStats) -> None:
        c.operators[0].skew, c.operators[0].slowest = 3.5, 0.2

    found = diagnose_change(skewed)
    assert found.cause == "skewed-keys"
    assert "no single key is hot" in found.findings[0].evidence[1]


def stalled(waits: float, done: int = 3) -> Diagnosis:
    found = history(20)
    current = CheckpointStats(
        20, "in progress", acknowledged_tasks=done, all_tasks=4, measured=SparkTimings(now(found))
    )
    current.waits_for = [UnfinishedTask(1, 1, "node-3", waits)]
    return diagnose([*found, current], now(found) + waits)


def test_a_stalled_worker() -> None:
    assert stalled(5).cause == "healthy"
    found = stalled(15)
    assert found.cause == "stalled-worker"
    assert found.findings[0].title == "A worker is stalled: checkpoint 20 waits for slot 1 of level 1"
    assert (
        "3 of 4 tasks are done; slot 1 of level 1 on node-3 is not; its last worker was laptop:2"
        in found.findings[0].evidence[1]
    )


def test_a_checkpoint_in_progress_on_a_slow_machine() -> None:
    current = CheckpointStats(0, "in progress", measured=SparkTimings(BEGIN), cpu_seconds=8.0, cpu_wait=40.0)
    current.waits_for = [UnfinishedTask(1, 1, "node-3", 50)]
    found = diagnose([current], BEGIN + 60)
    assert [f.cause for f in found.findings] == ["overloaded-machine"]
    assert found.findings[0].evidence == [
        "threads of Spark were ready to compute for 48 s, and waited for a CPU for 83% of it",
        "checkpoint 0 has been in progress for 60 s",
    ]


def test_a_long_batch_is_normal_if_all_are_long() -> None:
    found = history(20, lambda c: setattr(c.measured, "seconds", 8.0), every=10.0)
    current = CheckpointStats(
        20, "in progress", measured=SparkTimings(now(found)), waits_for=[UnfinishedTask(1, 1, "node-3", 15)]
    )
    assert "stalled-worker" not in [f.cause for f in diagnose([*found, current], now(found) + 15).findings]


def test_a_worker_that_is_always_slow() -> None:
    def slower(c: CheckpointStats) -> None:
        c.tasks[3].run, c.measured.seconds = 0.9, 1.2

    found = diagnose_change(slower)
    assert found.cause == "stalled-worker"
    assert found.findings[0].title == "Worker laptop:2 is much slower than the others"


def test_failing_checkpoints() -> None:
    found = history(8)
    failed = CheckpointStats(8, "failed", "[STORE] No space left on device\nmore", measured=SparkTimings(now(found)))
    result = diagnose([*found, failed], now(found) + 1)
    assert result.cause == "failing-checkpoints"
    assert result.findings[0].evidence == ["checkpoint 8: [STORE] No space left on device"]
    later = history(320)[9:]
    assert diagnose([*found, failed, *later], now(later)).cause == "healthy"


@pytest.mark.parametrize(("interval", "cause"), [(0.0, "healthy"), (0.3, "short-interval"), (1.0, "healthy")])
def test_an_interval_is_too_short_if_the_overhead_does_not_fit(interval: float, cause: str) -> None:
    def hasty(c: CheckpointStats) -> None:
        c.interval = interval
        for task in c.tasks:
            task.run = 0.01

    assert diagnose_change(hasty).cause == cause


def lag_behind(c: CheckpointStats) -> None:
    c.sources[0].lag = 1000 * (c.id + 1)


def test_small_batches_and_backpressure_differ_in_overhead() -> None:
    def small(c: CheckpointStats) -> None:
        lag_behind(c)
        for task in c.tasks:
            task.run = 0.01

    def large(c: CheckpointStats) -> None:
        lag_behind(c)
        for task in c.tasks:
            task.run = 2.0
        c.measured.seconds = 4.5

    assert diagnose_change(small).cause == "short-interval"
    found = diagnose_change(large)
    assert found.cause == "backpressure"
    assert found.findings[0].evidence[0] == "source 'orders' lags behind: 4,000 unread records before, 20,000 now"


def test_a_bounded_source_never_lags_behind() -> None:
    def read(c: CheckpointStats) -> None:
        lag_behind(c)
        c.sources[0].bounded = True

    assert diagnose_change(read).cause == "healthy"


def test_a_source_without_lag_lags_behind_if_batches_are_full() -> None:
    def full(c: CheckpointStats) -> None:
        c.sources[0].lag, c.sources[0].full = None, True
        for task in c.tasks:
            task.run = 2.0
        c.measured.seconds = 4.5

    assert diagnose_change(full).cause == "backpressure"


def hold_back(c: CheckpointStats, mark: int = MIN_WATERMARK, since: int = 0) -> None:
    c.sources[0].mark = c.sources[0].highest = (1000 + c.id) * 1000
    own = mark if c.id >= since else (1000 + c.id) * 1000
    c.sources.append(SourceStats("r", "refunds", split="p-3", mark=own, highest=own))
    c.operators[0].watermark = own


def test_an_idle_source_holds_event_time_back() -> None:
    found = diagnose_change(hold_back)
    assert found.cause == "idle-source"
    assert found.findings[0].title == "An idle source holds event time back: split p-3 of source 'refunds'"
    assert "it has never had a watermark" in found.findings[0].evidence[0]
    assert diagnose_change(hold_back, count=9).cause == "healthy"  # not long enough yet


def test_a_source_that_becomes_idle() -> None:
    found = diagnose_change(lambda c: hold_back(c, 1005_000, 6))
    assert found.cause == "idle-source"
    assert found.findings[0].since == BEGIN + 5
    assert "others are 14 s ahead" in found.findings[0].evidence[0]


def test_unread_files_hold_event_time_back() -> None:
    def read_files(c: CheckpointStats) -> None:
        hold_back(c)
        c.sources[1].split, c.sources[1].highest = "*", 2_000_000 + c.id

    found = diagnose_change(read_files)
    assert found.cause == "unread-files"
    assert "files_in_time_order" in found.findings[0].advice[1]


def test_if_all_sources_are_idle_none_holds_event_time_back() -> None:
    def silent(c: CheckpointStats) -> None:
        hold_back(c)
        c.sources[0].mark = c.sources[0].highest = 5000

    assert diagnose_change(silent).cause == "healthy"


@pytest.mark.parametrize(
    ("files", "size", "cause"), [(60, 1000, "small-files"), (60, 500_000, "healthy"), (4, 1000, "healthy")]
)
def test_many_small_files(files: int, size: int, cause: str) -> None:
    def writes(c: CheckpointStats) -> None:
        c.sinks[0].files, c.sinks[0].bytes = files, files * size

    assert diagnose_change(writes).cause == cause


def test_a_checkpoint_of_many_small_files() -> None:
    found = diagnose_change(lambda c: setattr(c.measured, "files", 400))
    assert found.cause == "small-files"
    assert found.findings[0].title == "The checkpoint has too many small files"


def test_independent_findings_are_last() -> None:
    def both(c: CheckpointStats) -> None:
        c.sinks[0].files, c.sinks[0].bytes = 60, 6000
        sleep_in_function(c)

    assert [f.cause for f in diagnose_change(both).findings] == ["slow-function", "small-files"]


def test_the_healthy_history() -> None:
    assert (round(healthy(0).work, 3), healthy(0).seconds) == (0.19, 0.4)


def test_a_job_that_waits_for_storage() -> None:
    found = history(20)
    result = diagnose(found, now(found), "waits for checkpoint storage since 11:20:03: No space left on device")
    assert result.cause == "lost-storage"
    assert result.findings[0].evidence == ["it waits for checkpoint storage since 11:20:03: No space left on device"]
