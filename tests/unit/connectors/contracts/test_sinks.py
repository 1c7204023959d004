"""Contract tests of the built-in sinks and of a user-defined sink."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors import (
    BucketAssigner,
    CallableSink,
    Encoder,
    FileSink,
    JsonLinesSink,
    RollingPolicy,
    SimpleSink,
    Sink,
    WriteTask,
)
from penstock.testing import SinkContract
from tests.unit.connectors.contracts.sqlite import TableSink


def readable(folder: Path) -> list[Path]:
    """Visible files: no file or folder name starts with a dot or an underscore."""
    files = [f for f in folder.rglob("*") if f.is_file()]
    return sorted(f for f in files if not any(p.startswith((".", "_")) for p in f.relative_to(folder).parts))


class TestJsonLines(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        return JsonLinesSink(folder)

    def element(self, number: int) -> Any:
        return {"n": number}

    def visible(self, folder: Path) -> list[Any]:
        return [json.loads(line) for file in readable(folder) for line in file.read_text().splitlines()]


class TestFileSink(SinkContract):
    rolling: Any = RollingPolicy.on_checkpoint_rolling_policy()

    def make_sink(self, folder: Path) -> Sink:
        builder = FileSink.for_row_format(folder, Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).with_rolling_policy(self.rolling)
        return builder.build()

    def element(self, number: int) -> Any:
        return f"line {number}"

    def visible(self, folder: Path) -> list[Any]:
        return [line for file in readable(folder) for line in file.read_text().splitlines()]


class TestFileSinkOfSmallFiles(TestFileSink):
    """Each element fills a file, so files are completed before the end of the batch."""

    rolling = RollingPolicy.default_rolling_policy(part_size=1)
    keeps_order = False  # numbers in the names of files are not padded, as in Flink


class TestTable(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        with closing(sqlite3.connect(folder / "db")) as db, db:
            db.execute("create table if not exists numbers (n integer, text text)")
        return TableSink(str(folder / "db"), "numbers")

    def element(self, number: int) -> Any:
        return number, f"number {number}"

    def visible(self, folder: Path) -> list[Any]:
        with closing(sqlite3.connect(folder / "db")) as db:
            return db.execute("select * from numbers order by rowid").fetchall()


class Files(SimpleSink):
    """Writes in tasks and renames on the driver."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, elements: list[Any], task: WriteTask) -> Any:
        pending = self.folder / f".{task.lineage}-{task.batch}-{task.partition}-{task.attempt}"
        pending.write_text("".join(f"{e}\n" for e in elements))
        return str(pending)

    def publish(self, batch: str, written: list[Any]) -> None:
        lines = [Path(file).read_text() for file in written]
        merged = self.folder / f".{batch.replace('/', '-')}"
        merged.write_text("".join(lines))
        os.replace(merged, self.folder / batch.replace("/", "-"))

    def discard(self, written: list[Any]) -> None:
        for file in written:
            os.remove(file)


class TestFilesOfASimpleSink(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        return Files(folder)

    def visible(self, folder: Path) -> list[Any]:
        return [int(line) for file in readable(folder) for line in file.read_text().splitlines()]


class TestCallable(SinkContract):
    hidden_until_commit = False
    exactly_once = False

    def make_sink(self, folder: Path) -> Sink:
        def append(element: Any) -> None:
            with open(folder / "calls", "a", encoding="utf-8") as file:
                file.write(f"{element}\n")

        return CallableSink(append)

    def visible(self, folder: Path) -> list[Any]:
        calls = folder / "calls"
        return [int(line) for line in calls.read_text().splitlines()] if calls.exists() else []


# -- broken sinks are detected by the contract


class _Twice(Files):
    """Appends without checking the batch."""

    def publish(self, batch: str, written: list[Any]) -> None:
        with open(self.folder / "all", "a", encoding="utf-8") as file:
            file.writelines(Path(part).read_text() for part in written)


class _ByNumber(Files):
    """Identifies batches only by their number."""

    def publish(self, batch: str, written: list[Any]) -> None:
        super().publish(batch.rsplit("/")[-1], written)


class _AtOnce(Files):
    """Writes directly to visible files."""

    def write(self, elements: list[Any], task: WriteTask) -> Any:
        file = self.folder / f"{task.batch}-{task.partition}-{task.attempt}"
        file.write_text("".join(f"{e}\n" for e in elements))
        return str(file)

    def publish(self, batch: str, written: list[Any]) -> None:
        """Does nothing."""


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_Twice, "test_a_batch_committed_twice_counts_once"),
        (_Twice, "test_a_batch_that_runs_again_counts_once"),
        (_ByNumber, "test_a_restored_job_counts_its_batches_from_0_again"),
        (_AtOnce, "test_nothing_is_visible_before_the_commit"),
        (_AtOnce, "test_a_task_that_died_is_not_seen"),
        (_AtOnce, "test_a_batch_that_runs_again_counts_once"),
    ],
)
def test_contract_detects_broken_sinks(kind: Any, test: str) -> None:
    contract = TestFilesOfASimpleSink()
    contract.make_sink = kind  # type: ignore[method-assign]
    with pytest.raises(AssertionError):
        getattr(contract, test)()
