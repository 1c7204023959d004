"""Fixed ranges of input, redirected sinks, and the check for sinks that only append."""

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
from penstock.whatif.engine import with_replayed_sources
from penstock.whatif.plan import ForkPlan, plan_ranges
from penstock.whatif.redirected_sinks import FORK_SUFFIX, ForkedSink, redirect_sinks
from penstock.whatif.repeatable_sinks import check_repeatable
from penstock.whatif.replayed_source import ReplayedSource, SourceRange, plan_range


def read_batches(source: Source, folder: Path, position: Any = None) -> list[list[Any]]:
    """The records of each batch until the source has no more."""
    folder.mkdir()
    source.attach(str(folder))
    offset = source.initial() if position is None else source.restored(position)
    batches = []
    while (end := source.latest(offset)) != offset:
        tasks = source.plan(offset, end, 2)
        batches.append(sorted(v for task in tasks for chunk in source.read(task) for v in chunk.values))
        offset = end
    return batches


def new_folder(folder: Path) -> str:
    folder.mkdir()
    return str(folder)


def write_files(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"{name} 1\n{name} 2\n")


def monitored_source(folder: Path) -> Source:
    source: Source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
        .monitor_continuously(ps.Duration.of_millis(1))
        .build()
    )
    return source


def test_files_that_arrive_later_are_not_in_the_range(tmp_path: Path) -> None:
    write_files(tmp_path / "in", "a", "b")
    first = monitored_source(tmp_path / "in")
    range_ = plan_range(first, None, new_folder(tmp_path / "1"))
    write_files(tmp_path / "in", "c")
    expected = ["a 1", "a 2", "b 1", "b 2"]
    for number in range(2):  # the same in every run
        again = ReplayedSource(monitored_source(tmp_path / "in"), range_)
        batches = read_batches(again, tmp_path / f"run-{number}")
        assert sorted(v for batch in batches for v in batch) == expected


def test_a_range_starts_at_the_position_of_a_savepoint(tmp_path: Path) -> None:
    write_files(tmp_path / "in", "a")
    source = monitored_source(tmp_path / "in")
    source.attach(new_folder(tmp_path / "old"))
    offset = source.latest(source.initial())
    position = source.position(offset)
    write_files(tmp_path / "in", "b")
    range_ = plan_range(monitored_source(tmp_path / "in"), position, new_folder(tmp_path / "1"))
    write_files(tmp_path / "in", "c")
    again = ReplayedSource(monitored_source(tmp_path / "in"), range_)
    assert read_batches(again, tmp_path / "2", position) == [["b 1", "b 2"]]


def test_the_steps_are_the_batches_of_the_source(tmp_path: Path) -> None:
    source = CollectionSource(list(range(10)))
    complete = plan_range(source, None, new_folder(tmp_path / "1"))
    batches = read_batches(ReplayedSource(CollectionSource(list(range(10))), complete), tmp_path / "2")
    assert len(batches) == complete.last
    assert [v for b in batches for v in b] == list(range(10))


def test_a_range_with_a_limit_on_records(tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda n: n, count=1000)
    assert source.records_per_batch is not None
    range_ = plan_range(source, None, new_folder(tmp_path / "1"), records=30)
    batches = read_batches(ReplayedSource(DataGeneratorSource(lambda n: n, count=1000), range_), tmp_path / "2")
    assert sorted(v for b in batches for v in b) == list(range(30))


def test_an_unbounded_source_needs_a_limit(tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda n: n)
    with pytest.raises(PlanError, match=r"FORK_ENDLESS.*--records"):
        plan_range(source, None, new_folder(tmp_path / "1"))


def graph() -> Any:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(CollectionSource([1]), None, "numbers").uid("numbers")
    stream.sink_to(JsonLinesSink("elsewhere")).uid("lines")
    stream.print().uid("screen")
    return env.graph("job")


def test_all_sinks_are_redirected(tmp_path: Path) -> None:
    changed, redirected = redirect_sinks(graph(), str(tmp_path))
    assert [(r.uid, r.kind, Path(r.folder).name) for r in redirected] == [
        ("lines", "JsonLinesSink", "lines"),
        ("screen", "print", "screen"),
    ]
    assert all(type(node.sink) is ForkedSink for node in changed.sinks)
    assert [node.uid for node in changed.sinks] == [
        f"lines{FORK_SUFFIX}",
        f"screen{FORK_SUFFIX}",
    ]  # the state of the real sink is not restored


def test_any_element_is_encoded_as_a_line() -> None:
    sink = ForkedSink("folder", "out")
    assert sink.encoder is not None
    elements = [{"b": 1, "a": 2}, (1, "x"), ps.Row(a=1), {1j: 2}, object]
    lines = [line.decode().strip() for line in sink.encoder.encode(elements, None)]
    assert lines[:3] == ['{"a":2,"b":1}', '[1,"x"]', '{"a":1}']
    assert len(lines) == 5


def test_a_source_that_only_one_version_has_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"FORK_SOURCE_UNKNOWN.*'numbers'"):
        with_replayed_sources(graph(), {"letters": SourceRange(None, [{}])})


class Latest(SimpleSink):
    upserts = True


def test_sinks_that_append_are_refused_unless_allowed() -> None:
    with pytest.raises(PlanError, match=r"REPLAY_APPENDS.*JsonLinesSink.*--append"):
        check_repeatable(graph(), False)
    check_repeatable(graph(), True)
    env = ps.StreamExecutionEnvironment()
    env.from_collection([1]).sink_to(Latest())
    check_repeatable(env.graph("upserts"), False)


def write_savepoint(path: Path, **positions: Any) -> str:
    """Writes a savepoint that contains only source positions."""
    sources = [SavedSource(uid, uid, "FileSource", n, p) for n, (uid, p) in enumerate(positions.items())]
    empty = SavepointWriter.new_savepoint(8).write(str(path))
    return publish(empty.path, msgspec.structs.replace(empty.manifest, sources=sources)).path


def test_a_range_can_end_at_a_later_savepoint(tmp_path: Path) -> None:
    source = monitored_source(tmp_path / "in")
    positions = []
    write_files(tmp_path / "in", "a")
    source.attach(new_folder(tmp_path / "old"))
    offset = source.initial()
    for name in ("b", "c"):
        while (end := source.latest(offset)) == offset:
            time.sleep(0.002)  # it discovers files every millisecond
        offset = end
        positions.append(source.position(offset))
        write_files(tmp_path / "in", name)
    first, second = (write_savepoint(tmp_path / f"s{i}", files=p) for i, p in enumerate(positions))
    env = ps.StreamExecutionEnvironment()
    env.from_source(monitored_source(tmp_path / "in"), ps.WatermarkStrategy.no_watermarks(), "files").uid(
        "files"
    ).print()
    job = env.graph("job")
    ranges = plan_ranges(ForkPlan(first, str(tmp_path), until=second), job)
    again = ReplayedSource(monitored_source(tmp_path / "in"), ranges["files"])
    assert read_batches(again, tmp_path / "2", positions[0]) == [["b 1", "b 2"]]
    with pytest.raises(PlanError, match="FORK_UNTIL"):
        plan_ranges(ForkPlan(first, str(tmp_path), until=write_savepoint(tmp_path / "none")), job)
