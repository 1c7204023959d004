"""The connector 'filesystem'."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError, UnsupportedOperation
from tests.unit.formats.columns.tables import changes
from tests.unit.table.connectors.requests import files_in, read_all, sink, source, write_all


def options(path: Path, form: str = "json", **more: str) -> dict[str, str]:
    return {
        "connector": "filesystem",
        "path": str(path),
        "format": form,
        **{k.replace("__", "."): v for k, v in more.items()},
    }


def written(path: Path, **files: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def test_recorded_case_of_csv_with_times(tmp_path: Path) -> None:
    text = "2024-02-29,13:14:15,2024-02-29 13:14:15.678,1|2|3\n1970-01-01,00:00:00,1969-12-31 23:59:59.999,7\n"
    given = options(written(tmp_path / "in", c=text), "csv") | {"csv.array-element-delimiter": "|"}
    rows = read_all(source("a DATE, b TIME(0), c TIMESTAMP(3), d ARRAY<INT>", given), tmp_path / "c")
    assert rows == [
        (
            datetime.date(2024, 2, 29),
            datetime.time(13, 14, 15),
            datetime.datetime(2024, 2, 29, 13, 14, 15, 678_000),
            [1, 2, 3],
        ),
        (datetime.date(1970, 1, 1), datetime.time(0), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000), [7]),
    ]


def test_csv_records_with_line_ends(tmp_path: Path) -> None:
    given = options(written(tmp_path / "in", c='"x\ny",1\r\nz,2\r\n'), "csv")
    assert read_all(source("a STRING, b INT", given), tmp_path / "c") == [("x\ny", 1), ("z", 2)]


def test_folders_are_read_recursively_without_hidden_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", a='{"a":1}\n\n{"a":2}\n', _hidden='{"a":3}\n')
    written(folder / "deep", b='{"a":4}')
    table = source("a INT", options(folder))
    assert table.source.bounded
    assert sorted(read_all(table, tmp_path / "c")) == [(1,), (2,), (4,)]


def test_single_files_and_patterns(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", **{"a.json": '{"a":1}\n', "b.txt": '{"a":2}\n'})
    assert read_all(source("a INT", options(folder / "a.json")), tmp_path / "c") == [(1,)]
    given = options(folder) | {"source.path.regex-pattern": ".*[.]txt"}
    assert read_all(source("a INT", given), tmp_path / "d") == [(2,)]


def test_monitored_folders_are_unbounded(tmp_path: Path) -> None:
    given = options(written(tmp_path / "in", a='{"a":1}\n')) | {"source.monitor-interval": "1 s"}
    table = source("a INT", given)
    assert not table.source.bounded
    assert read_all(table, tmp_path / "c") == [(1,)]


def test_raw_lines(tmp_path: Path) -> None:
    given = options(written(tmp_path / "in", a="x\n\ny\n"), "raw")
    assert read_all(source("a STRING", given), tmp_path / "c") == [("x",), ("",), ("y",)]


def test_change_capture_is_a_retract_source(tmp_path: Path) -> None:
    lines = '{"before":null,"after":{"a":1},"op":"c"}\n{"before":{"a":1},"after":{"a":2},"op":"u"}\n'
    table = source("a INT", options(written(tmp_path / "in", a=lines), "debezium-json"))
    assert table.mode == "retract"
    assert read_all(table, tmp_path / "c") == [("+I", 1), ("-U", 1), ("+U", 2)]


COLUMNS = "a INT, b STRING, c DECIMAL(10, 2), d TIMESTAMP(3), e ARRAY<INT>"
ROWS = [(1, "x", Decimal("1.50"), datetime.datetime(2024, 1, 1), [1, 2]), (2, None, None, None, None)]


@pytest.mark.parametrize("form", ["json", "csv", "avro", "parquet", "orc"])
@pytest.mark.parametrize("partitions", [(), ("b",)])
def test_all_formats_write_and_read(tmp_path: Path, form: str, partitions: Any) -> None:
    given = options(tmp_path / "out", form) | ({"csv.null-literal": "-"} if form == "csv" else {})
    table = sink(COLUMNS, given, partitions=partitions)
    assert table.mode == "append"
    write_all(table, tmp_path / "w", changes(COLUMNS, ROWS), changes(COLUMNS, ROWS[:1]))
    found = read_all(source(COLUMNS, given, partitions=partitions), tmp_path / "r")
    assert sorted(found, key=str) == sorted([*ROWS, ROWS[0]], key=str)
    wanted = read_all(source(COLUMNS, given, ["b", "a"], partitions=partitions), tmp_path / "r2")
    assert sorted(wanted, key=str) == sorted([("x", 1), (None, 2), ("x", 1)], key=str)
    assert read_all(source(COLUMNS, given, [], partitions=partitions), tmp_path / "r3") == [(), (), ()]


def test_partitions_have_the_names_of_flink(tmp_path: Path) -> None:
    columns = "a INT, p STRING, q INT"
    rows = [(1, "x y", 1), (2, None, None), (3, "a/b=c:d%", 1)]
    table = sink(columns, options(tmp_path / "out"), partitions=("p", "q"))
    write_all(table, tmp_path / "w", changes(columns, rows))
    assert files_in(tmp_path / "out") == {
        "p=a%2Fb%3Dc%3Ad%25/q=1": '{"a":3}\n',
        "p=__DEFAULT_PARTITION__/q=__DEFAULT_PARTITION__": '{"a":2}\n',
        "p=x y/q=1": '{"a":1}\n',
    }
    found = read_all(source(columns, options(tmp_path / "out"), partitions=("p", "q")), tmp_path / "r")
    assert sorted(found) == sorted(rows)


def test_metadata_of_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", f='{"a":1}\n{"a":2}\n')
    metadata = {
        "file.name": "STRING",
        "file.size": "INT",
        "file.path": "STRING",
        "file.modification-time": "TIMESTAMP_LTZ(3)",
    }
    rows = read_all(source("a INT", options(folder), ["a"], metadata), tmp_path / "c")
    assert [row[:4] for row in rows] == [(1, "f", 16, f"{folder}/f"), (2, "f", 16, f"{folder}/f")]
    assert abs(rows[0][4].timestamp() - (folder / "f").stat().st_mtime) < 0.01


def test_compaction_joins_the_files_of_a_batch(tmp_path: Path) -> None:
    table = sink("a INT", options(tmp_path / "out") | {"auto-compaction": "true", "compaction.file-size": "1 mb"})
    write_all(table, tmp_path / "w", changes("a INT", [(1,)]), changes("a INT", [(2,)]))
    assert files_in(tmp_path / "out") == {".": '{"a":1}\n{"a":2}\n'}


def test_what_files_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="OVERWRITE"):
        sink("a INT", options(tmp_path), overwrite=True)
    with pytest.raises(PenstockError, match="VIRTUAL"):
        sink("a INT", options(tmp_path), {"file.name": "STRING"})
    with pytest.raises(UnsupportedOperation, match="ORC has no time"):
        source("a TIME", options(tmp_path, "orc"))
