"""The history of checkpoints: whole when tasks and Spark have spoken, bounded, and true about failures."""

from __future__ import annotations

from pathlib import Path

from penstock.jobs.checkpoints import Checkpoint, Measured, SinkPart, TaskFigures
from penstock.jobs.history import History
from penstock.jobs.ledger import Ledger


def ids(history: History) -> list[tuple[int, str]]:
    return [(c.id, c.status) for c in history.latest()]


def test_a_checkpoint_is_kept_when_spark_has_told_its_times(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 2.0)
    assert ledger.take([Checkpoint(0, all_tasks=4)], {}, 100.0) == []
    assert ids(history) == []
    [whole] = ledger.take([], {0: Measured(99.0, 1.5)}, 101.0)
    assert (whole.seconds, whole.interval) == (1.5, 2.0)
    [kept] = history.latest()
    assert kept == whole


def test_without_spark_s_word_it_is_kept_later(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 0.0)
    ledger.take([Checkpoint(0)], {}, 100.0)
    ledger.take([], {}, 111.0)
    assert ids(history) == [(0, "completed")]


def test_what_waits_at_the_end_is_kept(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 0.0)
    ledger.take([Checkpoint(0)], {}, 100.0)
    ledger.end()
    assert ids(history) == [(0, "completed")]


def test_a_batch_that_was_committed_again_counts_once(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 0.0)
    spent = {n: Measured(1.0, 1.0) for n in range(3)}
    for number in (0, 1, 1, 2, 1):
        ledger.take([Checkpoint(number)], spent, 100.0)
    assert ids(history) == [(0, "completed"), (1, "completed"), (2, "completed")]


def test_a_failed_one_has_the_number_that_runs_again(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 0.0)
    ledger.take([Checkpoint(0, all_tasks=6)], {0: Measured(1.0, 1.0)}, 100.0)
    ledger.fail("the disk is full", 103.0)
    ledger.take([Checkpoint(1)], {1: Measured(104.0, 1.0)}, 105.0)
    assert ids(history) == [(0, "completed"), (1, "failed"), (1, "completed")]
    failed = history.latest()[1]
    assert (failed.reason, failed.all_tasks, failed.acknowledged_tasks, failed.triggered) == (
        "the disk is full",
        6,
        0,
        103,
    )


def test_a_batch_that_sinks_took_and_spark_did_not_commit_has_failed(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 0.0)
    ledger.take([Checkpoint(0), Checkpoint(1)], {0: Measured(1.0, 1.0)}, 100.0)
    ledger.fail("commit log", 103.0, 1)
    ledger.take([Checkpoint(1)], {}, 104.0)
    ledger.fail("commit log", 105.0, 1)
    ledger.take([Checkpoint(1)], {1: Measured(106.0, 1.0)}, 107.0)
    assert ids(history) == [(0, "completed"), (1, "failed"), (1, "failed"), (1, "completed")]


def test_a_resumed_job_goes_on_with_the_numbers(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.add([Checkpoint(7), Checkpoint(8, "failed")])
    ledger = Ledger(history, 0.0)
    ledger.begin(2)
    assert ledger.next == 8
    ledger.fail("again", 1.0)
    assert [(c.id, c.run) for c in history.latest()][-1] == (8, 2)


def test_the_one_in_progress_comes_last_and_goes_when_it_is_done(tmp_path: Path) -> None:
    history = History(tmp_path)
    ledger = Ledger(history, 0.0)
    ledger.take([Checkpoint(0, all_tasks=6)], {0: Measured(1.0, 1.0)}, 100.0)
    ledger.show(Checkpoint(1, "in progress", acknowledged_tasks=2, all_tasks=3))
    current = history.latest()[-1]
    assert (current.status, current.acknowledged_tasks, current.all_tasks) == ("in progress", 2, 6)
    ledger.take([Checkpoint(1)], {1: Measured(2.0, 1.0)}, 101.0)
    assert ids(history) == [(0, "completed"), (1, "completed")]


def test_the_history_is_bounded_by_number(tmp_path: Path) -> None:
    history = History(tmp_path, most=10)
    for number in range(95):
        history.add([Checkpoint(number)])
    assert [c.id for c in history.latest()] == list(range(80, 95))
    assert [c.id for c in history.latest(3)] == [92, 93, 94]
    assert len(list(tmp_path.iterdir())) == 2
    again = History(tmp_path, most=10)  # another run of the job counts what is there
    for number in range(95, 100):
        again.add([Checkpoint(number)])
    assert [c.id for c in again.latest()] == list(range(90, 100))


def test_the_history_is_bounded_by_bytes(tmp_path: Path) -> None:
    history = History(tmp_path, most_bytes=2000)
    for number in range(200):
        history.add([Checkpoint(number, reason="x" * 100)])
    assert sum(f.stat().st_size for f in tmp_path.iterdir()) < 5000
    assert history.latest()[-1].id == 199


def test_a_half_written_line_is_left_out(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.add([Checkpoint(0)])
    with open(tmp_path / "checkpoints.jsonl", "ab") as file:
        file.write(b'{"id": 1, "sta')
    assert ids(history) == [(0, "completed")]


def test_where_the_time_went() -> None:
    tasks = [
        TaskFigures(0, 0, 10.1, run=0.2),
        TaskFigures(1, 0, 10.4, catch_up=0.1, run=0.5, sync=0.1, state_bytes=100, written_bytes=10),
        TaskFigures(1, 1, 10.4, catch_up=0.0, run=0.3, sync=0.1, state_bytes=300, written_bytes=20),
    ]
    c = Checkpoint(
        0,
        tasks=tasks,
        sinks=[SinkPart("s", "s", 9, writing=0.1, committing=0.2)],
        measured=Measured(10.0, 2.0, storing=[0.05], loading=[0.01]),
    )
    assert round(c.work, 3) == 1.0  # 0.2 of the source, 0.5 of the slower slot, 0.3 of the sink
    assert round(c.storing, 3) == 0.26
    assert round(c.overhead, 3) == 1.0
    assert (c.state_bytes, c.written_bytes) == (400, 30)
    assert c.latest_acknowledged is not None
    assert round(c.latest_acknowledged - c.triggered, 3) == 1.1
