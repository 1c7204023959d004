"""A range of input that is fixed once is read the same every time; sinks write elsewhere; appending sinks are refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

import penstock as ps
from penstock.connectors import DataGeneratorSource, FileSource, JsonLinesSink, SimpleSink, StreamFormat
from penstock.connectors.collection import CollectionSource
from penstock.connectors.source import Source
from penstock.errors import PlanError
from penstock.savepoints import SavedSource, publish
from penstock.state_processor import SavepointWriter
from penstock.whatif.engine import with_ranges
from penstock.whatif.plan import ForkPlan, ranges_of
from penstock.whatif.redirected import MARK, ForkedSink, redirected
from penstock.whatif.replayed_source import ReplayedSource, SourceRange, planned_range
from penstock.whatif.sinks import refuse_appending


def all_read(source: Source, folder: Path, position: Any = None) -> list[list[Any]]:
    """What each batch reads, until nothing more comes."""
    folder.mkdir()
    source.attach(str(folder))
    offset = source.initial() if position is None else source.restored(position)
    batches = []
    while (end := source.latest(offset)) != offset:
        tasks = source.plan(offset, end, 2)
        batches.append(sorted(v for task in tasks for chunk in source.read(task) for v in chunk.values))
        offset = end
    return batches


def made(folder: Path) -> str:
    folder.mkdir()
    return str(folder)


def files_of(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"{name} 1\n{name} 2\n")


def watched(folder: Path) -> Source:
    source: Source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
        .monitor_continuously(ps.Duration.of_millis(1))
        .build()
    )
    return source


def test_files_that_come_later_are_not_in_the_range(tmp_path: Path) -> None:
    files_of(tmp_path / "in", "a", "b")
    first = watched(tmp_path / "in")
    range_ = planned_range(first, None, made(tmp_path / "1"))
    files_of(tmp_path / "in", "c")
    expected = ["a 1", "a 2", "b 1", "b 2"]
    for number in range(2):  # in every run
        again = ReplayedSource(watched(tmp_path / "in"), range_)
        batches = all_read(again, tmp_path / f"run-{number}")
        assert sorted(v for batch in batches for v in batch) == expected


def test_a_range_begins_where_a_savepoint_stands(tmp_path: Path) -> None:
    files_of(tmp_path / "in", "a")
    source = watched(tmp_path / "in")
    source.attach(made(tmp_path / "old"))
    offset = source.latest(source.initial())
    position = source.position(offset)
    files_of(tmp_path / "in", "b")
    range_ = planned_range(watched(tmp_path / "in"), position, made(tmp_path / "1"))
    files_of(tmp_path / "in", "c")
    again = ReplayedSource(watched(tmp_path / "in"), range_)
    assert all_read(again, tmp_path / "2", position) == [["b 1", "b 2"]]


def test_the_steps_are_those_that_the_source_admitted(tmp_path: Path) -> None:
    source = CollectionSource(list(range(10)))
    whole = planned_range(source, None, made(tmp_path / "1"))
    batches = all_read(ReplayedSource(CollectionSource(list(range(10))), whole), tmp_path / "2")
    assert len(batches) == whole.last
    assert [v for b in batches for v in b] == list(range(10))


def test_so_many_records_of_a_source_that_counts_them(tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda n: n, count=1000)
    assert source.records_per_batch is not None
    range_ = planned_range(source, None, made(tmp_path / "1"), records=30)
    batches = all_read(ReplayedSource(DataGeneratorSource(lambda n: n, count=1000), range_), tmp_path / "2")
    assert sorted(v for b in batches for v in b) == list(range(30))


def test_a_source_without_end_needs_one(tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda n: n)
    with pytest.raises(PlanError, match=r"FORK_ENDLESS.*--records"):
        planned_range(source, None, made(tmp_path / "1"))


def graph() -> Any:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(CollectionSource([1]), None, "numbers").uid("numbers")
    stream.sink_to(JsonLinesSink("elsewhere")).uid("lines")
    stream.print().uid("screen")
    return env.graph("job")


def test_all_sinks_are_redirected_and_told(tmp_path: Path) -> None:
    changed, told = redirected(graph(), str(tmp_path))
    assert [(r.uid, r.kind, Path(r.folder).name) for r in told] == [
        ("lines", "JsonLinesSink", "lines"),
        ("screen", "print", "screen"),
    ]
    assert all(type(node.sink) is ForkedSink for node in changed.sinks)
    assert [node.uid for node in changed.sinks] == [
        f"lines{MARK}",
        f"screen{MARK}",
    ]  # what a sink remembers is not taken


def test_any_element_has_a_line() -> None:
    sink = ForkedSink("folder")
    assert sink.encoder is not None
    elements = [{"b": 1, "a": 2}, (1, "x"), ps.Row(a=1), {1j: 2}, object]
    lines = [line.decode().strip() for line in sink.encoder.encode(elements, None)]
    assert lines[:3] == ['{"a":2,"b":1}', '[1,"x"]', '{"a":1}']
    assert len(lines) == 5


def test_a_source_that_only_one_version_has_is_refused() -> None:
    with pytest.raises(PlanError, match=r"FORK_SOURCE_UNKNOWN.*'numbers'"):
        with_ranges(graph(), {"letters": SourceRange(None, [{}])})


class Latest(SimpleSink):
    upserts = True


def test_sinks_that_append_are_refused_unless_it_is_said() -> None:
    with pytest.raises(PlanError, match=r"REPLAY_APPENDS.*JsonLinesSink.*--append"):
        refuse_appending(graph(), False)
    refuse_appending(graph(), True)
    env = ps.StreamExecutionEnvironment()
    env.from_collection([1]).sink_to(Latest())
    refuse_appending(env.graph("upserts"), False)


def savepoint_at(path: Path, **positions: Any) -> str:
    """A savepoint that knows nothing but how far sources were read."""
    sources = [SavedSource(uid, uid, "FileSource", n, p) for n, (uid, p) in enumerate(positions.items())]
    empty = SavepointWriter.new_savepoint(8).write(str(path))
    return publish(empty.path, msgspec.structs.replace(empty.manifest, sources=sources)).path


def test_a_range_may_end_at_a_later_savepoint(tmp_path: Path) -> None:
    source = watched(tmp_path / "in")
    positions = []
    files_of(tmp_path / "in", "a")
    source.attach(made(tmp_path / "old"))
    offset = source.initial()
    for name in ("b", "c"):
        while (end := source.latest(offset)) == offset:
            time.sleep(0.002)  # it looks for files every millisecond
        offset = end
        positions.append(source.position(offset))
        files_of(tmp_path / "in", name)
    first, second = (savepoint_at(tmp_path / f"s{i}", files=p) for i, p in enumerate(positions))
    env = ps.StreamExecutionEnvironment()
    env.from_source(watched(tmp_path / "in"), ps.WatermarkStrategy.no_watermarks(), "files").uid("files").print()
    job = env.graph("job")
    ranges = ranges_of(ForkPlan(first, str(tmp_path), until=second), job)
    again = ReplayedSource(watched(tmp_path / "in"), ranges["files"])
    assert all_read(again, tmp_path / "2", positions[0]) == [["b 1", "b 2"]]
    with pytest.raises(PlanError, match="FORK_UNTIL"):
        ranges_of(ForkPlan(first, str(tmp_path), until=savepoint_at(tmp_path / "none")), job)
