"""Matching a savepoint with a job: uids, new and removed parts, sources, clocks. In the harness, without Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.connectors import CollectionSource, DataGeneratorSource, FileSource, NumberSequenceSource, SimpleSource
from penstock.connectors.datagen import DataGenSource, RandomField
from penstock.connectors.source import Source
from penstock.datastream import DataStream
from penstock.errors import CheckpointError
from penstock.savepoints import open_savepoint
from penstock.state import ValueStateDescriptor
from penstock.testing import Harness, PushSource
from penstock.time import MIN_WATERMARK
from penstock.types import BasicType


class Sum(ps.KeyedProcessFunction):
    """Emits the sum of the numbers of a key, and again at event time 100."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", int))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(100)
        yield ctx.get_current_key(), self.total.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), "at", timestamp, self.total.value()


def key_of(n: int) -> int:
    return n % 10


def push_job(uid: str = "sums", source: str = "numbers") -> tuple[ps.StreamExecutionEnvironment, DataStream[Any]]:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    numbers = env.from_source(PushSource(["s"]), source_name=source).uid(source)
    return env, numbers.key_by(key_of).process(Sum()).uid(uid)


def take_savepoint(folder: Path) -> str:
    env, _ = push_job()
    harness = Harness(env)
    with harness.batch():
        for n in range(30):
            harness.push(n, n)
    harness.push_watermark(50)
    return harness.savepoint(folder / "savepoint")


def test_state_timers_and_watermarks_are_restored(tmp_path: Path) -> None:
    path = take_savepoint(tmp_path)
    env, sums = push_job()
    harness = Harness(env, parallelism=3, max_parallelism=77)
    out = harness.collect(sums)
    harness.restore_savepoint(path)
    assert harness.watermark() == 50
    harness.push(3, 60)
    assert out == [(3, 3 + 13 + 23 + 3)]
    harness.push_watermark(100)
    assert len(out) == 11
    assert (3, "at", 100, 42) in out


def test_an_operator_on_another_level_finds_its_clocks(tmp_path: Path) -> None:
    path = take_savepoint(tmp_path)
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    numbers = env.from_source(PushSource(["s"]), source_name="numbers").uid("numbers")
    first = numbers.key_by(lambda n: n % 3).reduce(lambda a, b: b).uid("first")
    sums = first.key_by(key_of).process(Sum()).uid("sums")
    harness = Harness(env)
    out = harness.collect(sums)
    harness.restore_savepoint(path)
    assert harness.watermark("sums") == 50
    assert harness.watermarks().get("first", MIN_WATERMARK) == MIN_WATERMARK
    harness.push(3, 60)
    assert harness.watermark("sums") == 50  # a watermark never goes back
    harness.push_watermark(100)
    assert (3, "at", 100, 42) in out


def test_unclaimed_state_is_refused_or_dropped(tmp_path: Path) -> None:
    path = take_savepoint(tmp_path)
    env, sums = push_job(uid="other")
    harness = Harness(env)
    out = harness.collect(sums)
    with pytest.raises(CheckpointError) as refused:
        harness.restore_savepoint(path)
    assert refused.value.code == "SAVEPOINT_STATE_UNCLAIMED"
    assert "operator 'sums' (process): __event_timers__, total with 20 entries" in refused.value.text
    assert "New in the job: 'other'" in refused.value.text
    harness.restore_savepoint(path, allow_dropped_state=True).push(3, 60)
    assert out == [(3, 3)]


def test_a_removed_operator_without_entries_is_ignored(tmp_path: Path) -> None:
    env, _ = push_job()
    path = Harness(env).savepoint(tmp_path / "empty")
    env, sums = push_job(uid="other")
    harness = Harness(env)
    out = harness.collect(sums)
    harness.restore_savepoint(path).push(3, 60)
    assert out == [(3, 3)]


def test_another_kind_of_source_is_refused(tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_source(CollectionSource([1, 2, 3]), source_name="given").uid("given").key_by(key_of).process(Sum()).uid(
        "s"
    )
    path = Harness(env).run(max_batches=1).savepoint(tmp_path / "savepoint")
    env = ps.StreamExecutionEnvironment()
    env.from_source(NumberSequenceSource(1, 3), source_name="given").uid("given").key_by(key_of).process(Sum()).uid("s")
    with pytest.raises(CheckpointError) as refused:
        Harness(env).restore_savepoint(path)
    assert refused.value.code == "SAVEPOINT_SOURCE_CHANGED"
    assert "a CollectionSource when the savepoint was taken and is a NumberSequenceSource now" in refused.value.text


def test_a_removed_source_is_refused(tmp_path: Path) -> None:
    path = take_savepoint(tmp_path)
    env, _ = push_job(source="others")
    with pytest.raises(CheckpointError, match=r"source 'numbers': its position"):
        Harness(env).restore_savepoint(path)


def test_a_job_from_a_drained_savepoint_starts_with_new_watermarks(tmp_path: Path) -> None:
    path = take_savepoint(tmp_path)
    savepoint = open_savepoint(path)
    savepoint.manifest.ended = "drain"
    env, sums = push_job()
    harness = Harness(env)
    out = harness.collect(sums)
    harness.job.restore_savepoint(savepoint)
    assert harness.watermarks() == {}
    harness.push(4, 1)
    assert out == [(4, 4 + 14 + 24 + 4)]


def sources(folder: Path) -> dict[str, Source]:
    """Bounded sources of 0 to 99 that return some elements per batch."""
    for number in range(4):
        lines = [str(n) for n in range(number * 25, number * 25 + 25)]
        (folder / "lines").mkdir(exist_ok=True)
        (folder / "lines" / f"{number}.txt").write_text("\n".join(lines) + "\n")
    found: dict[str, Source] = {
        "collection": CollectionSource(list(range(100))),
        "sequence": NumberSequenceSource(0, 99),
        "generator": DataGeneratorSource(lambda n: n, count=100),
        "files": FileSource(str(folder / "lines")),
        "rows": DataGenSource({"n": RandomField(BasicType.INT)}, number_of_rows=100, rows_per_second=1_000_000),
        "simple": Numbers(folder / "count"),
    }
    for source in found.values():
        if source.records_per_batch is not None:
            source.records_per_batch = 30
    return found


class Numbers(SimpleSource):
    """As many numbers as a file says. The file is changed later, which a restored job must ignore."""

    records_per_batch = 30

    def __init__(self, file: Path) -> None:
        self._file = file

    def end(self, split: str) -> int:
        return int(self._file.read_text())

    def read_range(self, split: str, start: int, end: int) -> Iterator[tuple[int, Any]]:
        return ((n, n) for n in range(start, end))


def number_of(element: Any) -> int:
    return int(element.n if isinstance(element, ps.Row) else element)


@pytest.mark.parametrize("kind", ["collection", "sequence", "generator", "files", "rows", "simple"])
def test_sources_continue_at_their_positions(tmp_path: Path, kind: str) -> None:
    def job() -> tuple[ps.StreamExecutionEnvironment, DataStream[Any]]:
        env = ps.StreamExecutionEnvironment().set_parallelism(2)
        numbers = (
            env.from_source(sources(tmp_path)[kind], source_name="numbers").uid("numbers").map(number_of).uid("int")
        )
        return env, numbers.key_by(key_of).process(Sum()).uid("sums")

    (tmp_path / "count").write_text("100")
    env, sums = job()
    whole = Harness(env)
    out = whole.collect(sums)
    whole.run(max_batches=1)
    path = whole.savepoint(tmp_path / "savepoint")
    before = len(out)
    assert 0 < before <= 100
    whole.run()
    (tmp_path / "count").write_text("200")
    env, sums = job()
    harness = Harness(env, parallelism=3)
    found = harness.collect(sums)
    harness.restore_savepoint(path).run()
    assert sorted(map(repr, found)) == sorted(map(repr, out[before:]))


def test_stateful_operators_without_a_uid_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    env = ps.StreamExecutionEnvironment()
    numbers = env.from_collection([1, 2, 3])
    named = numbers.key_by(key_of).process(Sum()).uid("named")
    numbers.rebalance().map(lambda n: n).key_by(key_of).process(Sum()).name("adding up")
    numbers.key_by(key_of).map(lambda n: n).name("stateless").key_by(key_of).reduce(max).name("largest")
    named.print()
    env._take_graph("job")
    named.print()
    env._take_graph("another job of the same streams")
    (message,) = [record.getMessage() for record in caplog.records if "have state but no uid" in record.getMessage()]
    assert "'adding up' (test_matching.py:" in message
    assert "'largest'" in message
    assert "stateless" not in message
    assert "named" not in message.split("no uid:")[1]


def test_the_uid_of_a_source_with_watermarks() -> None:
    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps()
    env.from_source(PushSource(), strategy, "numbers").uid("mine").print()
    assert [node.uid for node in env.graph().nodes][:2] == ["mine", "mine-watermarks"]


def state_by_slot(harness: Harness) -> dict[Any, Any]:
    """Entries with the names of their tables."""
    found = {}
    for at, state in harness.job.states().items():
        names = {t.number.to_bytes(2, "big"): (t.operator, t.name) for t in state.meta.tables}
        found[at] = {(names[key[:2]], key[2:]): value for key, value in state.entries.items()}
    return found


@settings(max_examples=40, deadline=None)
@given(
    elements=st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 99)), max_size=60),
    before=st.tuples(st.integers(1, 5), st.integers(5, 200)),
    after=st.tuples(st.integers(1, 5), st.integers(5, 200)),
)
def test_a_savepoint_distributes_state_as_a_snapshot_does(
    elements: list[tuple[int, int]], before: tuple[int, int], after: tuple[int, int]
) -> None:
    env, _ = push_job()
    first = Harness(env, parallelism=before[0], max_parallelism=before[1])
    with first.batch():
        for value, timestamp in elements:
            first.push(value, timestamp)
    env, _ = push_job()
    second = Harness(env, parallelism=after[0], max_parallelism=after[1])
    env, _ = push_job()
    third = Harness(env, parallelism=after[0], max_parallelism=after[1])
    with tempfile.TemporaryDirectory() as folder:
        second.restore_savepoint(first.savepoint(f"{folder}/savepoint"))
    third.restore(first.snapshot())
    assert state_by_slot(second) == state_by_slot(third)
    keys = [key for slot in state_by_slot(second).values() for (_, name), key in slot if name == "total"]
    assert len(keys) == len({key_of(value) for value, _ in elements})
