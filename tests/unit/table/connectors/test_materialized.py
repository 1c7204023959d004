"""The storage of materialized tables: commits, merging, and what a reader sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from penstock.connectors.sink import WriteTask
from penstock.errors import CheckpointError, ConfigError, JobError
from penstock.runtime.relational.changes import Changes
from penstock.table.connectors.materialized import result as results
from penstock.table.connectors.materialized.merging import BUCKETS
from penstock.table.connectors.materialized.result import Result
from penstock.table.connectors.materialized.sink import ResultEncoder, ResultSink
from penstock.table.connectors.materialized.source import ResultSource
from penstock.table.environment.environment import TableEnvironment
from penstock.types.logical.kinds import BIGINT, STRING, Field

FIELDS = (Field("k", STRING), Field("n", BIGINT))
ADD, BEFORE, UPDATE, DELETE = range(4)
Row = tuple[int, str | None, int | None]


class Table:
    """A result with its sink."""

    def __init__(self, folder: Path, key: tuple[str, ...] = ("k",), fields: tuple[Field, ...] = FIELDS) -> None:
        self.result = Result(str(folder / "result"), fields, key)
        self.sink = ResultSink(self.result)
        self.encoder = ResultEncoder(fields, bool(key))
        self.folder = folder

    def prepared(self, batch: int, *tasks: list[Row], lineage: str = "job") -> list[Any]:
        """Writes the rows of some tasks without committing them."""
        found = []
        for number, rows in enumerate(tasks):
            kinds, *columns = zip(*rows, strict=True)
            types = [pa.string(), pa.int64(), pa.int64()]
            changes = Changes(
                [pa.array(c, t) for c, t in zip(columns, types, strict=False)], len(rows), np.array(kinds, np.int8)
            )
            writer = self.sink.writer(WriteTask(batch, number, "1", lineage, "sink"))
            writer.write(self.encoder.encode(changes)[0], None, None)
            found.append(writer.prepare())
        return found

    def commit(self, batch: int, *tasks: list[Row], lineage: str = "job") -> None:
        self.sink.commit(batch, self.prepared(batch, *tasks, lineage=lineage))

    def rows(self, names: tuple[str, ...] = ("k", "n")) -> list[tuple[Any, ...]]:
        """Reads the current version as a query does."""
        source = ResultSource(self.result, names)
        folder = self.folder / "reader"
        folder.mkdir(exist_ok=True)
        (folder / "snapshot.json").unlink(missing_ok=True)
        source.attach(str(folder))
        return read(source, names)


def read(source: ResultSource, names: tuple[str, ...] = ("k", "n")) -> list[tuple[Any, ...]]:
    start = source.initial()
    tasks = source.plan(start, source.latest(start), 3)
    batches = [value for task in tasks for chunk in source.read(task) for value in chunk.values]
    return sorted(
        (tuple(row[name] for name in names) for batch in batches for row in batch.to_pylist()),
        key=lambda row: [(value is not None, value) for value in row],
    )


def test_rows_by_key(tmp_path: Path) -> None:
    table = Table(tmp_path)
    assert table.rows() == []
    table.commit(0, [(ADD, "a", 1), (ADD, "b", 2), (UPDATE, "a", 3)])
    table.commit(1, [(DELETE, "b", 2)], [(ADD, "c", 4)])
    assert table.rows() == [("a", 3), ("c", 4)]
    table.commit(2, [(DELETE, "c", 4), (ADD, "c", 5)])
    assert table.rows(("k",)) == [("a",), ("c",)]
    assert table.rows() == [("a", 3), ("c", 5)]


def test_whole_rows_are_counted(tmp_path: Path) -> None:
    table = Table(tmp_path, key=())
    table.commit(
        0, [(ADD, "a", 1), (ADD, "a", 1), (ADD, None, None)], [(DELETE, "b", 2)], [(ADD, "b", 2), (ADD, "b", 2)]
    )
    assert table.rows() == [(None, None), ("a", 1), ("a", 1), ("b", 2)]
    table.commit(1, [(BEFORE, "a", 1), (UPDATE, "a", 7), (DELETE, None, None)])
    assert table.rows() == [("a", 1), ("a", 7), ("b", 2)]
    assert table.rows(("n",)) == [(1,), (2,), (7,)]


@pytest.mark.parametrize("key", [("k",), ()])
def test_a_repeated_commit_changes_nothing(tmp_path: Path, key: tuple[str, ...]) -> None:
    table = Table(tmp_path, key)
    first = table.prepared(0, [(ADD, "a", 1)])
    table.sink.commit(0, first)
    table.sink.commit(0, first)
    table.commit(0, [(ADD, "a", 1)])  # the batch ran again after a crash, and wrote other files
    assert table.rows() == [("a", 1)]
    assert len(list((tmp_path / "result" / "data").iterdir())) == 1
    table.commit(0, [(ADD, "b", 1)], lineage="started from a savepoint")
    assert table.rows() == [("a", 1), ("b", 1)]


def test_what_is_not_committed_is_not_visible(tmp_path: Path) -> None:
    table = Table(tmp_path)
    prepared = table.prepared(0, [(ADD, "a", 1)])
    assert table.rows() == []
    table.sink.abort(0, prepared)
    assert not list((tmp_path / "result" / "data").iterdir())


@pytest.mark.parametrize("key", [("k",), ()])
def test_merged_files_have_the_same_rows(tmp_path: Path, key: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_MOST_FILES", 3)
    monkeypatch.setattr(results, "_KEPT", -1.0)
    table = Table(tmp_path, key)
    expected: dict[str, int] = {}
    for batch in range(20):
        rows: list[Row] = []
        for number in range(batch, batch + 30):
            name = f"key {number % 40}"
            if name in expected:
                rows.append((BEFORE, name, expected[name]))
            if number % 7:
                rows.append((UPDATE, name, batch))
                expected[name] = batch
            elif name in expected:
                rows[-1] = (DELETE, name, expected.pop(name))
        table.commit(batch, [row for row in rows if not key or row[0] != BEFORE])
        assert table.rows() == sorted(expected.items())
    manifest = table.result.manifest()
    assert manifest.merged is None  # there are few rows
    assert 1 <= len(manifest.changes) <= 3
    table.result.compact()
    assert table.rows() == sorted(expected.items())
    monkeypatch.setattr(results, "_LEAST_ROWS", 10)
    for batch, name in enumerate(sorted(expected), 100):
        table.commit(batch, [(DELETE, name, expected.pop(name))])
        assert table.rows() == sorted(expected.items())
    assert len(table.result.manifest().files) <= 4
    assert len(list((tmp_path / "result" / "data").iterdir())) <= 8


def test_a_reader_keeps_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(tmp_path)
    table.commit(0, [(ADD, "a", 1)])
    source = ResultSource(table.result, ("k", "n"))
    source.attach(str(tmp_path))
    table.commit(1, [(UPDATE, "a", 2)])
    table.result.compact()
    assert read(source) == [("a", 1)]
    again = ResultSource(table.result, ("k", "n"))
    again.attach(str(tmp_path))  # after a restart of the job
    assert read(again) == [("a", 1)]
    assert again.restored(source.position({"bucket": BUCKETS})) == {"bucket": BUCKETS}
    monkeypatch.setattr(results, "_KEPT", -1.0)
    table.commit(2, [(UPDATE, "a", 3)])
    table.result.compact()
    with pytest.raises(JobError, match=r"TABLE_RESULT_REPLACED.*Run the query again"):
        read(again)


def test_new_columns_are_null_in_old_rows(tmp_path: Path) -> None:
    Table(tmp_path).commit(0, [(ADD, "a", 1), (ADD, "b", 1)])
    wider = Table(tmp_path, fields=(*FIELDS, Field("m", BIGINT)))
    assert wider.rows(("k", "m")) == [("a", None), ("b", None)]
    rows: Any = [(UPDATE, "a", 1, 5)]
    wider.commit(1, rows)
    wider.result.compact()
    assert wider.rows(("k", "m")) == [("a", 5), ("b", None)]


def test_a_savepoint_of_another_version_is_refused(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.commit(0, [(ADD, "a", 1)])
    memory = table.sink.memory()
    table.sink.restore(memory)
    table.commit(1, [(ADD, "b", 1)])
    with pytest.raises(CheckpointError, match="TABLE_RESULT_VERSION"):
        table.sink.restore(memory)


def test_a_damaged_manifest_is_reported(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.commit(0, [(ADD, "a", 1)])
    manifest = tmp_path / "result" / "manifest.json"
    stored = msgspec.json.decode(manifest.read_bytes())
    manifest.write_bytes(msgspec.json.encode(stored | {"version": 99}))
    with pytest.raises(JobError, match=r"TABLE_RESULT_DAMAGED.*newer version"):
        table.rows()
    manifest.write_bytes(b"{")
    with pytest.raises(JobError, match="TABLE_RESULT_DAMAGED"):
        table.rows()


def test_the_connector_belongs_to_materialized_tables() -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'materialized', 'path' = '/nowhere')")
    with pytest.raises(ConfigError, match="CREATE MATERIALIZED TABLE"):
        env.execute_sql("SELECT * FROM t")
