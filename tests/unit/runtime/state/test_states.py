"""States compared with plain models: what a function sees depends neither on the boundaries of batches nor on restarts."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.functions import AggregateFunction
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTable, StateTables
from penstock.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.ttl import StateTtlConfig, StateVisibility, UpdateType
from penstock.types import Types
from tests.unit.runtime.state.state_models import MODELS, Expiration


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + 1, accumulator[1] + value]

    def get_result(self, accumulator: list[int]) -> tuple[int, int]:
        return accumulator[0], accumulator[1]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


@dataclass(frozen=True)
class City:
    name: str


KEYS: list[Any] = [City("Rome"), "b", City("Oslo"), "a"]
LISTS = Types.LIST(Types.INT())

Describe = Callable[[], StateDescriptor]
DESCRIPTORS: dict[str, list[Describe]] = {
    "value": [lambda: ValueStateDescriptor("s"), lambda: ValueStateDescriptor("s", LISTS)],
    "list": [lambda: ListStateDescriptor("s"), lambda: ListStateDescriptor("s", LISTS)],
    "map": [lambda: MapStateDescriptor("s"), lambda: MapStateDescriptor("s", None, LISTS)],
    "reducing": [
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b, LISTS),
    ],
    "aggregating": [
        lambda: AggregatingStateDescriptor("s", CountAndSum()),
        lambda: AggregatingStateDescriptor("s", CountAndSum(), LISTS),
    ],
}

VALUES = st.lists(st.integers(0, 3), max_size=2)
USER_KEYS = st.sampled_from([1, 2.5, "x", ("y", 1), City("Kyiv")])


def call(name: str, *arguments: Any) -> Any:
    return st.tuples(st.just(name), st.tuples(*arguments))


CALLS: dict[str, Any] = {
    "value": st.one_of(call("value"), call("update", VALUES), call("clear"), call("change value")),
    "list": st.one_of(
        call("get"),
        call("add", VALUES),
        call("add_all", st.lists(VALUES, max_size=3)),
        call("update", st.lists(VALUES, max_size=3)),
        call("clear"),
        call("change elements"),
    ),
    "map": st.one_of(
        call("get", USER_KEYS),
        call("contains", USER_KEYS),
        call("put", USER_KEYS, VALUES),
        call("put_all", st.dictionaries(USER_KEYS, VALUES, max_size=3)),
        call("remove", USER_KEYS),
        call("items"),
        call("keys"),
        call("values"),
        call("is_empty"),
        call("clear"),
        call("change entry", USER_KEYS),
    ),
    "reducing": st.one_of(call("get"), call("add", VALUES), call("clear")),
    "aggregating": st.one_of(call("get"), call("add", st.integers(0, 5)), call("clear")),
}


def perform(state: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """Calls a method of a state. A change in place is applied to the result of a method."""
    arguments = copy.deepcopy(arguments)
    if name == "change value":
        changed = [v for v in [state.value()] if v is not None]
    elif name == "change elements":
        changed = list(state.get())
    elif name == "change entry":
        changed = [v for v in [state.get(*arguments)] if v is not None]
    else:
        result = getattr(state, name)(*arguments)
        return copy.deepcopy(list(result) if hasattr(result, "__next__") else result)
    for value in changed:
        value.append(9)
    return copy.deepcopy(changed)


class Job:
    """The state of one operator on entries in memory."""

    def __init__(self, descriptor: StateDescriptor, scope: str = "key", cached: bool = False) -> None:
        self._descriptor = descriptor
        self._scope = scope
        self._cached = cached
        self.base = MemoryView()
        self.now = 0
        self._known: list[StateTable] = []
        self.restart()

    def restart(self) -> None:
        """Creates everything again except for the committed entries."""
        self._store = Store(self.base)
        self._tables = StateTables(self._known)
        self.backend = KeyedStateStore(self._store, self._tables, "op", KeyTable(8), self._cached)
        self.backend.now = self.now
        self.state = self.backend.handle(self._descriptor, self._scope)

    def commit(self) -> None:
        self.backend.remove_expired()
        self.backend.flush()
        self.base.apply(self._store.take_changes())
        self._known = self._tables.all()

    def roll_back(self) -> None:
        self.backend.discard_batch()
        self._store.take_changes()

    def tick(self, by: int) -> None:
        self.now += by
        self.backend.now = self.now


class Model:
    """The same in plain Python."""

    def __init__(self, kind: str, ttl: StateTtlConfig | None) -> None:
        self.now = 0
        self._kind = kind
        self._ttl = ttl
        self._states: dict[Any, Any] = {}

    def at(self, key: Any) -> Any:
        if key not in self._states:
            self._states[key] = MODELS[self._kind](Expiration(self._ttl, lambda: self.now))
        return self._states[key]


def run(job: Job, kind: str, steps: list[Any], ttl: StateTtlConfig | None = None) -> None:
    """Performs the steps on both and compares the results of each call."""
    model = Model(kind, ttl)
    for what, *rest in steps:
        if what == "call":
            key, (name, arguments) = rest
            job.backend.set_key(key)
            assert perform(job.state, name, arguments) == perform(model.at(key), name, arguments)
        elif what == "tick":  # the clock does not advance within a batch
            job.commit()
            job.tick(rest[0])
            model.now += rest[0]
        else:
            job.commit()
            if what == "restart":
                job.restart()


def steps_of(kind: str, *others: Any, keys: int = 2) -> Any:
    calls = st.tuples(st.just("call"), st.sampled_from(KEYS[-keys:]), CALLS[kind])
    cuts = st.sampled_from([("commit",), ("restart",)])
    return st.lists(st.one_of(calls, calls, calls, cuts, *others), max_size=30)


@pytest.mark.parametrize("cached", [False, True], ids=["lmdb", "hashmap"])
@pytest.mark.parametrize("typed", [False, True], ids=["pickled", "typed"])
@pytest.mark.parametrize("kind", DESCRIPTORS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_state_equals_its_model(kind: str, typed: bool, cached: bool, data: st.DataObject) -> None:
    steps = data.draw(steps_of(kind))
    run(Job(DESCRIPTORS[kind][typed](), cached=cached), kind, steps)


TTLS = [
    pytest.param(update, visibility, cleanup, id=f"{update.name}, {visibility.name}, {cleanup}")
    for update, visibility, cleanup in itertools.product(UpdateType, StateVisibility, (0, 1, 1000))
    # What has expired and is still there depends on what was cleaned when, so it is compared without cleaning.
    if cleanup == 0 or visibility is StateVisibility.NeverReturnExpired
]


@pytest.mark.parametrize(("update", "visibility", "cleanup"), TTLS)
@pytest.mark.parametrize("kind", DESCRIPTORS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_state_expires_as_its_model_does(
    kind: str, update: UpdateType, visibility: StateVisibility, cleanup: int, data: st.DataObject
) -> None:
    builder = StateTtlConfig.new_builder(5).set_update_type(update).set_state_visibility(visibility)
    ttl = builder.cleanup_incrementally(cleanup).build()
    steps = data.draw(steps_of(kind, st.tuples(st.just("tick"), st.sampled_from([1, 4, 5])), keys=1))
    descriptor = DESCRIPTORS[kind][data.draw(st.booleans())]()
    descriptor.enable_time_to_live(ttl)
    run(Job(descriptor), kind, steps, ttl)


@settings(max_examples=60, deadline=None)
@given(steps=steps_of("map"))
def test_broadcast_state_does_not_depend_on_the_key(steps: list[Any]) -> None:
    steps = [(what, "a", *rest[1:]) if what == "call" else (what,) for what, *rest in steps]
    job = Job(MapStateDescriptor("s"), scope="slot")
    model = Model("map", None)
    for (what, *rest), key in zip(steps, itertools.cycle(KEYS), strict=False):
        job.backend.set_key(key)
        if what == "call":
            _, (name, arguments) = rest
            assert perform(job.state, name, arguments) == perform(model.at("all"), name, arguments)
        else:
            job.commit()


@pytest.mark.parametrize("cached", [False, True], ids=["lmdb", "hashmap"])
@pytest.mark.parametrize("kind", DESCRIPTORS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_failed_batch_leaves_no_trace(kind: str, cached: bool, data: st.DataObject) -> None:
    committed, failed = data.draw(steps_of(kind)), data.draw(steps_of(kind))
    job, undisturbed = (Job(DESCRIPTORS[kind][0](), cached=cached) for _ in range(2))
    for each in (job, undisturbed):
        run_calls(each, committed)
        each.commit()
    run_calls(job, [step for step in failed if step[0] == "call"])
    job.roll_back()
    assert run_calls(job, failed) == run_calls(undisturbed, failed)
    for each in (job, undisturbed):
        each.commit()
    assert job.base.entries == undisturbed.base.entries


def run_calls(job: Job, steps: list[Any]) -> list[Any]:
    results = []
    for what, *rest in steps:
        if what == "call":
            job.backend.set_key(rest[0])
            results.append(perform(job.state, *rest[1]))
        else:
            job.commit()
    return results


@pytest.mark.parametrize("kind", DESCRIPTORS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_cleared_state_has_no_entries(kind: str, data: st.DataObject) -> None:
    job = Job(DESCRIPTORS[kind][0]())
    run_calls(job, data.draw(steps_of(kind)))
    for key in KEYS:
        job.backend.set_key(key)
        job.state.clear()
    job.commit()
    exotic = [t for t in job.backend._tables.all() if t.kind == "keys"]
    left = [k for k in job.base.entries if not any(k[:2] == t.number.to_bytes(2, "big") for t in exotic)]
    assert left == []


def test_an_expired_entry_is_returned_at_most_once() -> None:
    descriptor = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(
        StateTtlConfig.new_builder(5).return_expired_if_not_cleaned_up().disable_cleanup_in_background().build()
    )
    job = Job(descriptor)
    job.backend.set_key("a")
    job.state.update([1])
    job.commit()
    job.tick(5)
    assert [job.state.value(), job.state.value()] == [[1], None]


@pytest.mark.parametrize("kind", DESCRIPTORS)
def test_expired_entries_are_removed_even_if_they_are_not_read(kind: str) -> None:
    descriptor = DESCRIPTORS[kind][0]()
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(5).cleanup_incrementally(3).build())
    job = Job(descriptor)
    add = {"value": ("update", ([1],)), "map": ("put", (1, [1])), "aggregating": ("add", (1,))}
    for key in "abcdef":
        job.backend.set_key(key)
        for _ in range(2):
            perform(job.state, *add.get(kind, ("add", ([1],))))
    job.commit()
    assert job.base.entries
    job.tick(5)
    for _ in range(20):
        job.commit()
    assert dict(job.base.entries) == {}


def written(job: Job) -> int:
    """Entries written by a commit."""
    job.backend.flush()
    changes = job._store.take_changes()
    job.base.apply(changes)
    return len(changes)


def test_appending_to_a_long_list_writes_only_the_new_element() -> None:
    job = Job(ListStateDescriptor("s", int))
    job.backend.set_key("a")
    job.state.add_all(list(range(10_000)))
    written(job)
    job.state.add(5)
    assert written(job) == 2  # the element and the list's bounds


def test_changing_an_entry_of_a_large_map_writes_only_that_entry() -> None:
    job = Job(MapStateDescriptor("s", int, int))
    job.backend.set_key("a")
    job.state.put_all({n: n for n in range(10_000)})
    written(job)
    job.state.put(7, 8)
    assert written(job) == 1


WRITES: dict[str, Any] = {"value": ("update", ([1],)), "map": ("put", (1, [1])), "aggregating": ("add", (1,))}


def test_reading_writes_nothing() -> None:
    for kind, descriptors in DESCRIPTORS.items():
        job = Job(descriptors[0]())
        job.backend.set_key("a")
        perform(job.state, *WRITES.get(kind, ("add", ([1],))))
        written(job)
        reads = {"value": "value", "map": "items"}
        list(perform(job.state, reads.get(kind, "get"), ()))
        assert written(job) == 0


def test_keys_with_a_state_include_those_of_the_current_batch() -> None:
    job = Job(ValueStateDescriptor("s"))
    for key in KEYS[:2]:
        job.backend.set_key(key)
        job.state.update(1)
    job.commit()
    job.restart()
    for key in KEYS[2:]:
        job.backend.set_key(key)
        job.state.update(1)
    assert set(job.backend.keys_with(ValueStateDescriptor("s"))) == set(KEYS)


@pytest.mark.parametrize("kind", sorted(DESCRIPTORS))
@pytest.mark.parametrize("removed", [False, True])
def test_keys_whose_state_has_expired_have_no_state(removed: bool, kind: str) -> None:
    """Whether expired state has been removed depends on the number of batches since then."""
    descriptor = DESCRIPTORS[kind][0]()
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(10).build())
    job = Job(descriptor)
    for key, now in (("old", 1), ("new", 5)):
        job.backend.now = now
        job.backend.set_key(key)
        perform(job.state, *WRITES.get(kind, ("add", ([1],))))
    job.commit()
    job.backend.now = 11
    if removed:
        job.backend.remove_expired()
    assert job.backend.keys_with(descriptor) == ["new"]


def test_a_failed_batch_does_not_lose_keys_that_cannot_be_decoded() -> None:
    job = Job(ValueStateDescriptor("s"))
    for roll_back in (True, False):
        job.backend.set_key(City("Oslo"))
        job.state.update(1)
        job.backend.flush()
        if roll_back:
            job.roll_back()
    job.commit()
    job.restart()
    assert job.backend.keys_with(ValueStateDescriptor("s")) == [City("Oslo")]


def test_state_without_a_current_key_is_rejected() -> None:
    job = Job(ValueStateDescriptor("s"))
    job.backend.unset_key()
    with pytest.raises(StateError, match="STATE_OUTSIDE_KEY"):
        job.state.value()


def test_a_state_of_another_kind_is_rejected() -> None:
    tables = StateTables([StateTable(1, "op", "s", "value", "pickle")])
    with pytest.raises(StateError, match="STATE_CHANGED"):
        tables.of("op", "s", "list", "pickle")


def test_a_pickled_state_can_get_a_type_later() -> None:
    job = Job(ValueStateDescriptor("s"))
    job.backend.set_key("a")
    job.state.update([1])
    job.commit()
    job._descriptor = ValueStateDescriptor("s", LISTS)
    job.restart()
    job.backend.set_key("a")
    assert job.state.value() == [1]
    with pytest.raises(StateError, match="STATE_CHANGED"):
        StateTables([StateTable(1, "op", "s", "value", "msgspec:INT")]).of("op", "s", "value", "msgspec:STRING")
