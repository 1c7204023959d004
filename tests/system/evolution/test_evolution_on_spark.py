"""Compatible changes of state on Spark: one savepoint, one job with an operator per change, and one test per change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, ScriptedSource, Step
from penstock.datastream import DataStream
from penstock.errors import CheckpointError
from penstock.spark.job.job import SparkJob
from penstock.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.testing import Harness
from penstock.types import Types
from penstock.types.evolution import state_type
from tests.unit.runtime.state.evolution.key_changes import CHANGES as KEY_CHANGES
from tests.unit.runtime.state.evolution.key_changes import OnlyRegion

pytestmark = pytest.mark.spark

KEYS = 8


@dataclass
class Old:
    total: int
    name: str


@dataclass
class Added:
    total: int
    name: str
    currency: str = "EUR"
    tags: list[str] = field(default_factory=list)


@dataclass
class Removed:
    name: str


@dataclass
class Reordered:
    name: str
    total: int


@state_type(aliases={"amount": "total"})
@dataclass
class Renamed:
    amount: int
    name: str


@dataclass
class Widened:
    total: float | None
    name: str


class OldStruct(msgspec.Struct):
    total: int
    parts: dict[str, list[int]]


@state_type(aliases={"sum": "total"})
class NewStruct(msgspec.Struct):
    parts: dict[str, list[float]]
    sum: float
    note: str = "-"


class OldPair(NamedTuple):
    x: int
    y: int


class NewPair(NamedTuple):
    y: float = 0.0
    x: int = 0
    z: int = 7


def cents(version: int, old: Any) -> Cents:
    return Cents(round(old["total"] * 100), f"v{version}")


@state_type(version=2, migrate=cents)
@dataclass
class Cents:
    n: int
    made: str = "now"


OLD_ROW = Types.ROW_NAMED(["name", "total"], [Types.STRING(), Types.INT()])
NEW_ROW = Types.ROW_NAMED(["total", "label", "extra"], [Types.DOUBLE(), Types.STRING(), Types.LONG()]).evolved(
    aliases={"label": "name"}, defaults={"extra": 9}
)

Change = tuple[StateDescriptor, StateDescriptor, Callable[[int], Any], Callable[[int], Any]]


def value(before: Any, after: Any) -> tuple[StateDescriptor, StateDescriptor]:
    return ValueStateDescriptor("s", before), ValueStateDescriptor("s", after)


# What was stored for a key, and what the new job finds.
CHANGES: dict[str, Change] = {
    "added": (*value(Old, Added), lambda k: Old(k, "n"), lambda k: Added(k, "n", "EUR", [])),
    "removed": (*value(Old, Removed), lambda k: Old(k, f"n{k}"), lambda k: Removed(f"n{k}")),
    "reordered": (*value(Old, Reordered), lambda k: Old(k, "n"), lambda k: Reordered("n", k)),
    "renamed": (*value(Old, Renamed), lambda k: Old(k, "n"), lambda k: Renamed(k, "n")),
    "widened": (*value(Old, Widened), lambda k: Old(k, "n"), lambda k: Widened(float(k), "n")),
    "struct": (
        *value(OldStruct, NewStruct),
        lambda k: OldStruct(k, {"a": [k]}),
        lambda k: NewStruct({"a": [float(k)]}, float(k), "-"),
    ),
    "tuple": (*value(OldPair, NewPair), lambda k: OldPair(k, 2), lambda k: NewPair(2.0, k, 7)),
    "row": (
        *value(OLD_ROW, NEW_ROW),
        lambda k: ps.Row(name=f"n{k}", total=k),
        lambda k: ps.Row(total=float(k), label=f"n{k}", extra=9),
    ),
    "replaced": (*value(Old, Cents), lambda k: Old(k, "n"), lambda k: Cents(k * 100, "v1")),
    "pickled": (*value(None, tuple[int, str]), lambda k: (k, "n"), lambda k: (k, "n")),
    "list": (
        ListStateDescriptor("s", Old),
        ListStateDescriptor("s", Renamed),
        lambda k: [Old(k, "a"), Old(k, "b")],
        lambda k: [Renamed(k, "a"), Renamed(k, "b")],
    ),
    "map": (
        MapStateDescriptor("s", int, Old),
        MapStateDescriptor("s", float, Added),
        lambda k: {k: Old(k, "a")},
        lambda k: {k: Added(k, "a")},
    ),
}


class Keeper(ps.KeyedProcessFunction[Any, Any, Any]):
    """Stores a value for a key, or emits the stored value."""

    def __init__(self, line: str, descriptor: StateDescriptor, make: Callable[[int], Any] | None) -> None:
        self._line = line
        self._descriptor: Any = descriptor
        self._make = make

    def open(self, runtime_context: Any) -> None:
        get = {"list": "get_list_state", "map": "get_map_state"}.get(self._descriptor.kind, "get_state")
        self._state = getattr(runtime_context, get)(self._descriptor)

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        key = ctx.get_current_key()
        if self._make is not None:
            fill = self._state.put_all if self._descriptor.kind == "map" else self._state.update
            fill(self._make(key))
            return
        if self._descriptor.kind == "list":
            yield self._line, key, list(self._state.get())
        elif self._descriptor.kind == "map":
            yield self._line, key, dict(self._state.items())
        else:
            yield self._line, key, self._state.value()


def pipeline(env: ps.StreamExecutionEnvironment, after: bool, lines: dict[str, Change] = CHANGES) -> DataStream[Any]:
    """An operator per change. Keys are integers with a wider type in the new job."""
    steps = [Step({"s": list(range(KEYS))}) for _ in range(2)]
    source = env.from_source(ScriptedSource(steps, known=("s",)), source_name="numbers").uid("numbers")
    by_key = source.key_by(lambda n: n, key_type=Types.LONG() if after else Types.INT())
    streams = [
        by_key.process(Keeper(name, line[1] if after else line[0], None if after else line[2])).uid(name)
        for name, line in lines.items()
    ]
    return streams[0] if len(streams) == 1 else streams[0].union(*streams[1:])


def saved(folder: Path, lines: dict[str, Change] = CHANGES) -> str:
    env = ps.StreamExecutionEnvironment().set_parallelism(2).set_max_parallelism(16)
    stream = pipeline(env, after=False, lines=lines)
    harness = Harness(env)
    harness.collect(stream)
    harness.run(max_batches=1)
    return harness.savepoint(folder / "savepoint")


def options(folder: Path, path: str) -> ps.Configuration:
    return ps.Configuration(
        {
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "state.local.dir": str(folder / "local"),
            "execution.state-recovery.path": path,
        }
    )


def started(folder: Path, path: str, lines: dict[str, Change] = CHANGES) -> list[Any]:
    env = ps.StreamExecutionEnvironment(options(folder, path)).set_parallelism(3).set_max_parallelism(16)
    pipeline(env, after=True, lines=lines).sink_to(CollectSink())
    job = SparkJob(env.graph("evolved"), env.configuration, env.files)
    job.start()
    job.wait()
    return job.collected(0)


@pytest.fixture(scope="module")
def restored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, Any]]:
    folder = tmp_path_factory.mktemp("evolved")
    by_line: dict[str, dict[int, Any]] = {name: {} for name in CHANGES}
    for line, key, state in started(folder, saved(folder)):
        by_line[line][key] = state
    return by_line


@pytest.mark.parametrize("line", list(CHANGES))
def test_state_is_restored_with_its_new_type(restored: dict[str, dict[int, Any]], line: str) -> None:
    assert restored[line] == {key: CHANGES[line][3](key) for key in range(KEYS)}


# -- keys


class Reminder(ps.KeyedProcessFunction[Any, Any, Any]):
    """Stores a number and a timer per key; the timer emits the number."""

    def __init__(self, line: str) -> None:
        self._line = line

    def open(self, runtime_context: Any) -> None:
        self._number = runtime_context.get_state(ValueStateDescriptor("kept", int))
        self._all = runtime_context.get_list_state(ListStateDescriptor("all", int))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self._number.update((self._number.value() or 0) + value)
        self._all.add(value)
        ctx.timer_service().register_event_time_timer(1_000)
        return iter(())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self._line, ctx.get_current_key(), self._number.value(), list(self._all.get())


def rekeyed(env: ps.StreamExecutionEnvironment, change: str, after: bool) -> DataStream[Any]:
    """Elements of eight keys before, and of only one of them afterwards, so that most slots have no input."""
    before_key, after_key, _ = KEY_CHANGES[change]
    key = after_key if after else before_key
    steps = [Step({"s": list(range(KEYS))}), Step({"s": [3]})]
    source = env.from_source(ScriptedSource(steps, known=("s",)), source_name="numbers").uid("numbers")
    keyed = source.key_by(lambda n: key.of((n, "north", n)), key_type=key.type)
    return keyed.process(Reminder(change)).uid(change)


@pytest.mark.parametrize("change", ["another order", "a migrate function", "a number that became text by a function"])
def test_state_and_timers_move_to_the_slots_of_their_new_keys(spark: SparkSession, tmp_path: Path, change: str) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2).set_max_parallelism(16)
    harness = Harness(env)
    harness.collect(rekeyed(env, change, after=False))
    harness.run(max_batches=1)
    path = harness.savepoint(tmp_path / "savepoint")
    env = ps.StreamExecutionEnvironment(options(tmp_path, path)).set_parallelism(5).set_max_parallelism(77)
    rekeyed(env, change, after=True).sink_to(CollectSink())
    job = SparkJob(env.graph("rekeyed"), env.configuration, env.files)
    job.start()
    job.wait()
    key = KEY_CHANGES[change][1].of
    expected = [(change, key((n, "north", n)), n + 3 * (n == 3), [n] + [3] * (n == 3)) for n in range(KEYS)]
    assert sorted(job.collected(0), key=repr) == sorted(expected, key=repr)


def test_keys_that_become_equal_end_the_job(spark: SparkSession, tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2).set_max_parallelism(16)
    harness = Harness(env)
    harness.collect(rekeyed(env, "another order", after=False))
    harness.run(max_batches=1)
    path = harness.savepoint(tmp_path / "savepoint")
    env = ps.StreamExecutionEnvironment(options(tmp_path, path)).set_parallelism(3).set_max_parallelism(16)
    source = env.from_source(ScriptedSource([], known=("s",)), source_name="numbers").uid("numbers")
    by_region = source.key_by(lambda n: OnlyRegion("north"), key_type=OnlyRegion)
    by_region.process(Reminder("all")).uid("another order").sink_to(CollectSink())
    job = SparkJob(env.graph("rekeyed"), env.configuration, env.files)
    job.start()
    with pytest.raises(
        CheckpointError, match=r"of operator 'another order' both become OnlyRegion\('north'\)"
    ) as raised:
        job.wait()
    assert raised.value.code == "SAVEPOINT_KEYS_COLLIDE"


def test_an_incompatible_type_is_rejected_before_the_job_starts(spark: SparkSession, tmp_path: Path) -> None:
    line: Change = (*value(str, int), str, int)
    path = saved(tmp_path, {"texts": line})
    with pytest.raises(CheckpointError, match=r"texts: s: str cannot be converted to int"):
        started(tmp_path, path, {"texts": line})
    assert not list((tmp_path / "checkpoints").glob("*"))  # nothing was begun
