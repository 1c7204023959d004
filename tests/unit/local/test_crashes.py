"""A job of the local engine that ends at any point of a batch continues without losing or repeating anything."""

from __future__ import annotations

import random
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors import JsonLinesSink
from penstock.connectors.file.sink.sink import FileSink
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint import checkpoint
from penstock.jobs.checkpoint.batch_log import BatchLog
from penstock.jobs.checkpoint.lock import CheckpointLock
from penstock.local.executor import BatchExecutor
from tests.system.spark.processes import checkpoint_in
from tests.unit.local.jobs import environment

# A batch stores its input, computes, prepares its output, makes it visible and stores its changes.
POINTS = [
    (BatchLog, "begin"),
    (BatchExecutor, "run"),
    (BatchExecutor, "commit_sinks"),
    (FileSink, "_publish"),
    (BatchLog, "commit"),
    (BatchExecutor, "complete"),
]


class Killed(BaseException):
    """Ends the job as a signal would, without a restart."""


def kill_at(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, call: int, after: bool) -> None:
    """Ends the job at a call of a method, before or after it."""
    original, calls = getattr(owner, name), 0

    def method(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise Killed
        result = original(*args, **kwargs)
        if calls == call:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, method)


def run(folder: Path, resume: str = "") -> None:
    options = {"execution_resume": resume} if resume else {}
    env = environment(folder, source_batch_records=10, **options).set_parallelism(2)
    pairs = env.from_sequence(0, 49).map(lambda n: (n % 3, n)).key_by(lambda v: v[0])
    sums = pairs.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums").map(lambda v: {"key": v[0], "sum": v[1]})
    sums.sink_to(JsonLinesSink(folder / "out")).uid("out")
    env.execute()


def lines(folder: Path) -> list[str]:
    return sorted(line for file in (folder / "out").glob("part-*") for line in file.read_text().splitlines())


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    run(folder)
    return lines(folder)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), POINTS, ids=[name for _, name in POINTS])
def test_a_job_that_is_killed_at(
    owner: type, name: str, after: bool, tmp_path: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in (2, 3):  # killed twice
        kill_at(monkeypatch, owner, name, call, after)
        with pytest.raises(Killed):
            run(tmp_path, checkpoint_in(tmp_path / "checkpoints") if call > 2 else "")
        monkeypatch.undo()
    run(tmp_path, checkpoint_in(tmp_path / "checkpoints"))
    assert lines(tmp_path) == expected


def test_a_compacted_log(tmp_path: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchLog, "needs_compaction", lambda log: True)
    kill_at(monkeypatch, BatchLog, "compact", 3, after=True)
    with pytest.raises(Killed):
        run(tmp_path)
    monkeypatch.undo()
    run(tmp_path, checkpoint_in(tmp_path / "checkpoints"))
    assert lines(tmp_path) == expected


def test_materialized_output_is_that_of_the_first_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers are stored with the batch, so a repeated batch emits the same ones."""
    seen: list[float] = []

    def program(resume: str = "") -> None:
        env = environment(tmp_path, **({"execution_resume": resume} if resume else {}))
        numbers = env.from_sequence(0, 4).map(lambda n: random.random()).materialize().uid("random")
        for value in numbers.execute_and_collect():
            seen.append(value)

    kill_at(monkeypatch, BatchLog, "commit", 1, after=False)
    with pytest.raises(Killed):
        program()
    monkeypatch.undo()
    (stored,) = (tmp_path / "checkpoints").glob("*/penstock/materialized/*/0")
    before = stored.read_bytes()
    program(checkpoint_in(tmp_path / "checkpoints"))
    assert stored.read_bytes() == before
    assert len(seen) == 5


def test_a_job_does_not_begin_again_with_empty_state_if_its_checkpoint_is_deleted(tmp_path: Path) -> None:
    def fails(number: int) -> dict[str, int]:
        if number == 25:
            shutil.rmtree(tmp_path / "checkpoints")
            raise ConnectionError("away")
        return {"number": number}

    restarts = {"restart__strategy_type": "fixed-delay", "restart__strategy_fixed__delay_delay": "1 ms"}
    env = environment(tmp_path, source_batch_records=10, **restarts)
    env.from_sequence(0, 49).map(fails).sink_to(JsonLinesSink(tmp_path / "out"))
    with pytest.raises(CheckpointError, match=r"\[NO_CHECKPOINT\].* has disappeared while the job was running"):
        env.execute()
    assert lines(tmp_path) == sorted(f'{{"number":{n}}}' for n in range(20))


def test_a_job_whose_checkpoint_is_deleted_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "CheckpointLock", partial(CheckpointLock, heartbeat=0.01))

    def deletes(number: int) -> int:
        if number == 25:
            shutil.rmtree(tmp_path / "checkpoints")
        return number

    env = environment(tmp_path)
    env.from_generator(lambda n: n, rate=1000).map(deletes).print()
    with pytest.raises(CheckpointError, match=r"\[NO_CHECKPOINT\].* has disappeared while the job was running"):
        env.execute()
