"""The checkpoint history: complete, bounded, and correct about failures."""

from __future__ import annotations

from pathlib import Path

from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SinkStats, SparkTimings, TaskStats
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.run.ledger import CheckpointLedger


def ids(history: CheckpointHistory) -> list[tuple[int, str]]:
    return [(c.id, c.status) for c in history.latest()]


def test_a_checkpoint_is_stored_when_spark_has_reported_its_timings(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 2.0)
    assert ledger.add([CheckpointStats(0, all_tasks=4)], {}, 100.0) == []
    assert ids(history) == []
    [completed] = ledger.add([], {0: SparkTimings(99.0, 1.5)}, 101.0)
    assert (completed.seconds, completed.interval) == (1.5, 2.0)
    [stored] = history.latest()
    assert stored == completed


def test_without_timings_a_checkpoint_is_stored_after_a_timeout(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 0.0)
    ledger.add([CheckpointStats(0)], {}, 100.0)
    ledger.add([], {}, 111.0)
    assert ids(history) == [(0, "completed")]


def test_checkpoints_without_timings_are_stored_at_the_end(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 0.0)
    ledger.add([CheckpointStats(0)], {}, 100.0)
    ledger.end()
    assert ids(history) == [(0, "completed")]


def test_a_batch_that_is_committed_again_counts_once(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 0.0)
    timings = {n: SparkTimings(1.0, 1.0) for n in range(3)}
    for number in (0, 1, 1, 2, 1):
        ledger.add([CheckpointStats(number)], timings, 100.0)
    assert ids(history) == [(0, "completed"), (1, "completed"), (2, "completed")]


def test_a_failed_checkpoint_has_the_number_of_the_batch_that_runs_again(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 0.0)
    ledger.add([CheckpointStats(0, all_tasks=6)], {0: SparkTimings(1.0, 1.0)}, 100.0)
    ledger.fail("the disk is full", 103.0)
    ledger.add([CheckpointStats(1)], {1: SparkTimings(104.0, 1.0)}, 105.0)
    assert ids(history) == [(0, "completed"), (1, "failed"), (1, "completed")]
    failed = history.latest()[1]
    assert (failed.reason, failed.all_tasks, failed.acknowledged_tasks, failed.triggered) == (
        "the disk is full",
        6,
        0,
        103,
    )


def test_a_batch_that_only_the_sinks_committed_has_failed(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 0.0)
    ledger.add([CheckpointStats(0), CheckpointStats(1)], {0: SparkTimings(1.0, 1.0)}, 100.0)
    ledger.fail("commit log", 103.0, 1)
    ledger.add([CheckpointStats(1)], {}, 104.0)
    ledger.fail("commit log", 105.0, 1)
    ledger.add([CheckpointStats(1)], {1: SparkTimings(106.0, 1.0)}, 107.0)
    assert ids(history) == [(0, "completed"), (1, "failed"), (1, "failed"), (1, "completed")]


def test_a_resumed_job_continues_the_numbers(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    history.add([CheckpointStats(7), CheckpointStats(8, "failed")])
    ledger = CheckpointLedger(history, 0.0)
    ledger.begin(2)
    assert ledger.next == 8
    ledger.fail("again", 1.0)
    assert [(c.id, c.run) for c in history.latest()][-1] == (8, 2)


def test_the_checkpoint_in_progress_is_last_until_it_completes(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    ledger = CheckpointLedger(history, 0.0)
    ledger.add([CheckpointStats(0, all_tasks=6)], {0: SparkTimings(1.0, 1.0)}, 100.0)
    ledger.show_in_progress(CheckpointStats(1, "in progress", acknowledged_tasks=2, all_tasks=3))
    current = history.latest()[-1]
    assert (current.status, current.acknowledged_tasks, current.all_tasks) == (
        "in progress",
        2,
        3,
    )  # a batch may have fewer tasks than the last
    ledger.show_in_progress(CheckpointStats(1, "in progress"))
    assert history.latest()[-1].all_tasks == 6  # Spark does not know yet
    ledger.add([CheckpointStats(1)], {1: SparkTimings(2.0, 1.0)}, 101.0)
    assert ids(history) == [(0, "completed"), (1, "completed")]


def test_the_history_is_bounded_by_number(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path, max_checkpoints=10)
    for number in range(95):
        history.add([CheckpointStats(number)])
    assert [c.id for c in history.latest()] == list(range(80, 95))
    assert [c.id for c in history.latest(3)] == [92, 93, 94]
    assert len(list(tmp_path.iterdir())) == 2
    again = CheckpointHistory(tmp_path, max_checkpoints=10)  # another run of the job counts the existing checkpoints
    for number in range(95, 100):
        again.add([CheckpointStats(number)])
    assert [c.id for c in again.latest()] == list(range(90, 100))


def test_the_history_is_bounded_by_bytes(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path, max_bytes=2000)
    for number in range(200):
        history.add([CheckpointStats(number, reason="x" * 100)])
    assert sum(f.stat().st_size for f in tmp_path.iterdir()) < 5000
    assert history.latest()[-1].id == 199


def test_an_incomplete_line_is_ignored(tmp_path: Path) -> None:
    history = CheckpointHistory(tmp_path)
    history.add([CheckpointStats(0)])
    with open(tmp_path / "checkpoints.jsonl", "ab") as file:
        file.write(b'{"id": 1, "sta')
    assert ids(history) == [(0, "completed")]


def test_durations_of_a_checkpoint() -> None:
    tasks = [
        TaskStats(0, 0, 10.1, run=0.2),
        TaskStats(1, 0, 10.4, catch_up=0.1, run=0.5, sync=0.1, state_bytes=100, written_bytes=10, state_log_bytes=50),
        TaskStats(1, 1, 10.4, catch_up=0.0, run=0.3, sync=0.1, state_bytes=300, written_bytes=20, state_log_bytes=70),
    ]
    c = CheckpointStats(
        0,
        tasks=tasks,
        sinks=[SinkStats("s", "s", 9, writing=0.1, committing=0.2)],
        measured=SparkTimings(10.0, 2.0, storing=[0.05], loading=[0.01]),
    )
    assert round(c.work, 3) == 1.0  # 0.2 of the source, 0.5 of the slower slot, 0.3 of the sink
    assert round(c.storing, 3) == 0.26
    assert round(c.overhead, 3) == 1.0
    assert (c.state_bytes, c.state_log_bytes, c.written_bytes) == (400, 120, 30)
    assert c.latest_acknowledged is not None
    assert round(c.latest_acknowledged - c.triggered, 3) == 1.1
