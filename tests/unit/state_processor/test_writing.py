"""Writing savepoints from tables: their contents, jobs that start from them, and errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import CheckpointError, PenstockError, StateError
from penstock.savepoints import Savepoint
from penstock.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    OperatorIdentifier,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
)
from penstock.testing import Harness, PushSource
from tests.unit.state_processor.harness_savepoint import load

TOTAL = ps.ValueStateDescriptor("total", int)
SEEN = ps.ListStateDescriptor("seen", str)
DAYS = ps.MapStateDescriptor("days", str, int)


class Totals(ps.KeyedProcessFunction):
    """Sums values, and emits the state of a key when its timer fires."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.seen = runtime_context.get_list_state(SEEN)
        self.days = runtime_context.get_map_state(DAYS)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value[1])
        self.seen.add("new")
        yield self._format(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield (timestamp, *self._format(ctx))

    def _format(self, ctx: Any) -> tuple[Any, ...]:
        return ctx.get_current_key(), self.total.value(), list(self.seen.get()), dict(self.days.items())


def started(savepoint: Savepoint) -> tuple[Harness, Any]:
    """A harness that starts from a savepoint."""
    env = ps.StreamExecutionEnvironment()
    in_order = ps.WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(PushSource(), in_order).key_by(lambda v: v[0]).process(Totals()).uid("totals")
    harness = Harness(env, parallelism=1, max_parallelism=8)
    out = harness.collect(stream)
    load(savepoint, harness)
    return harness, out


def test_a_job_starts_from_a_written_savepoint(tmp_path: Path) -> None:
    writer = SavepointWriter.new_savepoint(max_parallelism=8)
    writer.with_state("totals", TOTAL, [{"key": "a", "value": 40}])
    writer.with_state("totals", SEEN, [{"key": "a", "value": "x"}, {"key": "a", "value": "y"}])
    writer.with_state("totals", DAYS, [{"key": "a", "map_key": "mon", "value": 1}])
    writer.with_timers("totals", [{"key": "a", "time": 500}, {"key": "b", "time": 700, "kind": "event"}])
    harness, out = started(writer.write(str(tmp_path / "s")))
    harness.push(("a", 2), timestamp=100)
    assert out.take() == [("a", 42, ["x", "y", "new"], {"mon": 1})]
    harness.push_watermark(600)
    assert out.take() == [(500, "a", 42, ["x", "y", "new"], {"mon": 1})]
    harness.end()
    assert out.take() == [(700, "b", None, [], {})]


class Bootstrap(KeyedStateBootstrapFunction[str, dict[str, Any]]):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: dict[str, Any], ctx: Any) -> None:
        self.total.update((self.total.value() or 0) + value["amount"])
        ctx.timer_service().register_event_time_timer(900)


def test_a_bootstrap_function_writes_state_and_timers(tmp_path: Path) -> None:
    table = pa.table({"name": ["a", "b", "a"], "amount": [1, 5, 2]})
    made = OperatorTransformation.bootstrap_with(table).key_by("name").transform(Bootstrap())
    writer = SavepointWriter.new_savepoint(8).with_operator(OperatorIdentifier.for_uid("totals"), made)
    harness, out = started(writer.write(str(tmp_path / "s")))
    harness.end()
    assert sorted(out.take()) == [(900, "a", 3, [], {}), (900, "b", 5, [], {})]


class Rules(BroadcastStateBootstrapFunction[Any]):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(DAYS).put(*value)


def test_a_bootstrap_function_writes_broadcast_state(tmp_path: Path) -> None:
    made = OperatorTransformation.bootstrap_with([{"k": "mon", "v": 1}]).transform(_Of())
    path = SavepointWriter.new_savepoint(8).with_operator("rules", made).write(str(tmp_path / "s")).path
    assert SavepointReader.read(path).table("rules", "days").to_pylist() == [{"map_key": "mon", "value": 1}]


class _Of(BroadcastStateBootstrapFunction[dict[str, Any]]):
    def process_element(self, value: dict[str, Any], ctx: Any) -> None:
        ctx.get_broadcast_state(DAYS).put(value["k"], value["v"])


@dataclass(frozen=True)
class Order:
    name: str
    amount: int


@pytest.mark.parametrize("form", ["arrow", "pandas", "dicts"])
def test_input_rows_of_all_kinds(tmp_path: Path, form: str) -> None:
    table = pa.table({"user": ["a", "b"], "shop": [1, 2], "name": ["x", "y"], "amount": [3, 4]})
    rows = {"arrow": table, "pandas": table.to_pandas(), "dicts": None}[form]
    state = ps.ValueStateDescriptor("order", Order)
    writer = SavepointWriter.new_savepoint(8)
    if rows is None:
        made = [{"key": ("a", 1), "value": Order("x", 3)}, {"key": ("b", 2), "value": Order("y", 4)}]
        writer.with_state("orders", state, made)
    else:
        writer.with_state("orders", state, rows, key=["user", "shop"], value=["name", "amount"])
    found = SavepointReader.read(writer.write(str(tmp_path / "s")).path).table("orders", "order").to_pylist()
    assert sorted(found, key=str) == [
        {"key": {"f0": "a", "f1": 1}, "value": {"name": "x", "amount": 3}},
        {"key": {"f0": "b", "f1": 2}, "value": {"name": "y", "amount": 4}},
    ]


KEYS = st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1), st.tuples(st.text(), st.integers(-5, 5)))


@settings(max_examples=30)
@given(st.dictionaries(KEYS, st.integers(-(2**63), 2**63 - 1), max_size=30), st.integers(1, 200))
def test_a_written_table_is_read(tmp_path_factory: pytest.TempPathFactory, values: dict[Any, int], groups: int) -> None:
    path = str(tmp_path_factory.mktemp("s") / "s")
    rows = [{"key": k, "value": v} for k, v in values.items()]
    savepoint = SavepointWriter.new_savepoint(groups).with_state("totals", TOTAL, rows).write(path)
    table = SavepointReader.read(path).table("totals", "total")
    assert sorted(table["value"].to_pylist() if values else []) == sorted(values.values())
    assert savepoint.verify() == []
    (state,) = [s for o in savepoint.manifest.operators for s in o.states if s.name == "total"]
    assert state.entries == len(values)


@pytest.fixture
def two_keys(tmp_path: Path) -> str:
    writer = SavepointWriter.new_savepoint(8)
    writer.with_state("totals", TOTAL, [{"key": "a", "value": 1}, {"key": "b", "value": 2}])
    writer.with_state("totals", SEEN, [{"key": "a", "value": "x"}, {"key": "b", "value": "y"}])
    writer.with_timers("totals", [{"key": "a", "time": 5}, {"key": "b", "time": 6}])
    return writer.write(str(tmp_path / "two")).path


def totals(path: str, uid: str = "totals") -> dict[Any, Any]:
    table = SavepointReader.read(path).table(uid, "total")
    return dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) if table.num_rows else {}


def changed(two_keys: str, tmp_path: Path, change: Any) -> SavepointReader:
    writer = SavepointWriter.from_existing_savepoint(two_keys)
    change(writer)
    before = Path(two_keys, "manifest.json").read_bytes()
    savepoint = writer.write(str(tmp_path / "changed"))
    assert Path(two_keys, "manifest.json").read_bytes() == before
    assert savepoint.verify() == []
    return SavepointReader.read(savepoint.path)


def test_new_entries_of_a_key_replace_the_old_ones(two_keys: str, tmp_path: Path) -> None:
    rows = [{"key": "a", "value": "z"}]
    reader = changed(two_keys, tmp_path, lambda w: w.with_state("totals", SEEN, rows))
    assert sorted(r["value"] for r in reader.table("totals", "seen").to_pylist()) == ["y", "z"]
    assert totals(reader.path) == {"a": 1, "b": 2}
    (seen,) = [s for s in reader.states("totals") if s.name == "seen"]
    assert seen.entries == 4  # two lists of one element


def test_a_table_changed_in_pandas_is_written(two_keys: str, tmp_path: Path) -> None:
    frame: pd.DataFrame = SavepointReader.read(two_keys).pandas("totals", "total")
    frame["value"] *= 10
    reader = changed(two_keys, tmp_path, lambda w: w.with_state("totals", TOTAL, frame))
    assert totals(reader.path) == {"a": 10, "b": 20}


def test_keys_are_removed_with_their_timers(two_keys: str, tmp_path: Path) -> None:
    reader = changed(two_keys, tmp_path, lambda w: w.remove_keys("totals", ["a"]))
    assert totals(reader.path) == {"b": 2}
    assert [r["key"] for r in reader.timers("totals").to_pylist()] == ["b"]
    assert [r["key"] for r in reader.table("totals", "seen").to_pylist()] == ["b"]


def test_timers_of_a_key_are_replaced(two_keys: str, tmp_path: Path) -> None:
    rows = [{"key": "a", "time": 9, "kind": "processing"}]
    reader = changed(two_keys, tmp_path, lambda w: w.with_timers("totals", rows))
    assert sorted((r["key"], r["time"], r["kind"]) for r in reader.timers("totals").to_pylist()) == [
        ("a", 9, "processing"),
        ("b", 6, "event"),
    ]


def test_states_and_operators_are_removed(two_keys: str, tmp_path: Path) -> None:
    reader = changed(two_keys, tmp_path, lambda w: w.remove_state("totals", "seen"))
    assert [s.name for s in reader.states("totals")] == ["total"]
    writer = SavepointWriter.from_existing_savepoint(two_keys).remove_operator("totals")
    assert writer.write(str(tmp_path / "empty")).manifest.operators == []


def test_the_uid_of_an_operator_is_changed(two_keys: str, tmp_path: Path) -> None:
    reader = changed(two_keys, tmp_path, lambda w: w.change_operator_identifier("totals", "sums"))
    assert totals(reader.path, "sums") == {"a": 1, "b": 2}
    assert [o.uid for o in reader.operators()] == ["sums"]


@pytest.mark.parametrize("groups", [8, 64])
def test_two_savepoints_are_joined(two_keys: str, tmp_path: Path, groups: int) -> None:
    other = SavepointWriter.new_savepoint(groups).with_state(
        "others", TOTAL, [{"key": i, "value": i} for i in range(50)]
    )
    path = other.write(str(tmp_path / "other")).path
    reader = changed(two_keys, tmp_path, lambda w: w.join(path))
    assert totals(reader.path) == {"a": 1, "b": 2}
    assert totals(reader.path, "others") == {i: i for i in range(50)}
    assert reader.manifest.max_parallelism == 8
    assert all(block.last < 8 for block, _ in reader.savepoint.blocks("others"))


def test_a_uid_in_both_savepoints_is_refused(two_keys: str) -> None:
    with pytest.raises(StateError, match=r"UID_CLASH.*'totals'.*change_operator_identifier"):
        SavepointWriter.from_existing_savepoint(two_keys).join(two_keys)


def test_a_savepoint_is_not_overwritten(two_keys: str) -> None:
    with pytest.raises(StateError, match="SAVEPOINT_EXISTS"):
        SavepointWriter.new_savepoint(8).write(two_keys)


def _of_another_type(writer: SavepointWriter) -> None:
    writer.with_state("totals", ps.ValueStateDescriptor("total", str), [{"key": "a", "value": "1"}])


def _without_key(writer: SavepointWriter) -> None:
    writer.with_state("totals", TOTAL, [{"name": "a", "value": 1}])


def _no_rows(writer: SavepointWriter) -> None:
    writer.with_state("totals", TOTAL, [("a", 1)])


def _misfit(writer: SavepointWriter) -> None:
    writer.with_state("totals", TOTAL, [{"key": "a", "value": "one"}])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_of_another_type, "STATE_DIFFERS"),
        (_without_key, "STATE_COLUMN"),
        (_no_rows, "STATE_ROWS"),
        (_misfit, "STATE_VALUE"),
        (lambda w: w.with_timers("totals", [{"key": "a", "time": 1, "kind": "evnt"}]), "TIMER_KIND"),
        (lambda w: w.remove_state("totals", "totl"), "NO_SUCH_STATE"),
        (lambda w: w.remove_operator("ttals"), "NO_SUCH_OPERATOR"),
        (lambda w: OperatorTransformation.bootstrap_with([]).transform(Bootstrap()), "BOOTSTRAP_WITHOUT_KEY"),
        (lambda w: OperatorTransformation.bootstrap_with([]).transform(Totals()), "BOOTSTRAP_FUNCTION"),
    ],
)
def test_errors_leave_no_savepoint(two_keys: str, tmp_path: Path, change: Any, code: str) -> None:
    writer = SavepointWriter.from_existing_savepoint(two_keys)

    def wrong() -> None:
        change(writer)
        writer.write(str(tmp_path / "wrong"))

    with pytest.raises(PenstockError, match=code):
        wrong()
    assert not (tmp_path / "wrong").exists()
    with pytest.raises(CheckpointError, match="NO_SAVEPOINT"):
        SavepointReader.read(str(tmp_path / "wrong"))


def test_an_error_leaves_other_files_in_the_folder(two_keys: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    writer = SavepointWriter.from_existing_savepoint(two_keys)
    _misfit(writer)
    with pytest.raises(PenstockError, match="STATE_VALUE"):
        writer.write(str(tmp_path / "mine"))
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_the_written_time_is_kept_when_a_table_is_read_and_written(tmp_path: Path) -> None:
    lasting = ps.ValueStateDescriptor("lasting", int)
    lasting.enable_time_to_live(ps.StateTtlConfig.new_builder(ps.Time.seconds(5)).build())
    rows = [{"key": "a", "value": 1, "written": 1000}]
    first = SavepointWriter.new_savepoint(8).with_state("o", lasting, rows).write(str(tmp_path / "1"))
    table = SavepointReader.read(first.path).table("o", "lasting")
    second = SavepointWriter.new_savepoint(8).with_state("o", lasting, table).write(str(tmp_path / "2"))
    assert SavepointReader.read(second.path).table("o", "lasting").equals(table)
