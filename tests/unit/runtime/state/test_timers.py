"""Timers compared with a plain sorted list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.timers import TimerQueue


@dataclass(frozen=True)
class City:
    name: str


KEYS: list[Any] = ["a", "b", "long" * 150, 7, City("Oslo")]
TIMERS = st.tuples(
    st.integers(-5, 30), st.sampled_from(range(len(KEYS))), st.sampled_from([None, (0, 10), (5, 15), ("x",)])
)
STEPS = st.one_of(
    st.tuples(st.just("register"), TIMERS),
    st.tuples(st.just("register"), TIMERS),
    st.tuples(st.just("delete"), TIMERS),
    st.tuples(st.just("advance"), st.integers(-5, 30)),
    st.tuples(st.just("advance and renew"), st.integers(-5, 30)),
    st.tuples(st.just("commit"), st.integers(-5, 30)),
    st.tuples(st.just("restart"), st.integers(-5, 30)),
)


class Timers:
    """A timer queue on entries in memory, and the same timers in a set."""

    def __init__(self) -> None:
        self._base = MemoryView()
        self._keys = KeyTable(8)
        self.expected: set[tuple[int, Any, Any]] = set()
        self._open(-6)

    def _open(self, limit: int) -> None:
        self._store = Store(self._base)
        self.queue = TimerQueue(self._store, b"tt", self._keys)
        self.limit = limit
        self.queue.begin(limit)

    def _order(self, timer: tuple[int, Any, Any]) -> Any:
        time, key, namespace = timer
        known = self._keys[key]
        return time, known.hash, known.encoded, b"" if namespace is None else msgspec.msgpack.encode(namespace)

    def due(self, until: int) -> list[tuple[int, Any, Any]]:
        return sorted((t for t in self.expected if t[0] <= until), key=self._order)

    def register(self, timer: tuple[int, Any, Any]) -> None:
        self.queue.register(*timer)
        self.expected.add(timer)

    def delete(self, timer: tuple[int, Any, Any]) -> None:
        self.queue.delete(*timer)
        self.expected.discard(timer)

    def advance(self, until: int, renew: bool) -> None:
        """Fires all timers that are due. With `renew`, each registers a later one, which may also be due."""
        while True:
            due = self.due(until)
            if due:
                assert self.queue.next_time <= due[0][0]
            fired = self.queue.pop(until)
            if fired is None:
                assert due == []
                return
            assert (fired.time, fired.key, fired.namespace) == due[0]
            self.expected.discard(due[0])
            if renew:
                self.register((fired.time + 4, fired.key, fired.namespace))

    def commit(self, limit: int, restart: bool) -> None:
        self.queue.flush()
        assert self.queue.earliest == min((t for t, _, _ in self.expected), default=None)
        self._base.apply(self._store.take_changes())
        assert len(self._base.entries) == len(self.expected)
        if restart:
            self._open(limit)
        else:
            self.limit = limit
            self.queue.begin(limit)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_timers_fire_in_the_order_of_a_sorted_list(steps: list[Any]) -> None:
    timers = Timers()
    for what, argument in steps:
        if what in ("register", "delete"):
            time, key, namespace = argument
            getattr(timers, what)((time, KEYS[key], namespace))
        elif what in ("advance", "advance and renew"):
            timers.advance(min(argument, timers.limit), renew=what != "advance")
        else:
            timers.commit(argument, restart=what == "restart")
    timers.commit(100, restart=True)
    timers.advance(100, renew=False)
    timers.commit(100, restart=False)


@given(st.lists(TIMERS, max_size=10), st.lists(TIMERS, max_size=10))
def test_a_discarded_batch_leaves_no_trace(committed: list[Any], discarded: list[Any]) -> None:
    timers = Timers()
    for time, key, namespace in committed:
        timers.register((time, KEYS[key], namespace))
    timers.commit(15, restart=False)
    before = set(timers.expected)
    for index, (time, key, namespace) in enumerate(discarded):
        (timers.delete if index % 2 else timers.register)((time, KEYS[key], namespace))
    timers.advance(15, renew=False)
    timers.queue.discard_batch()
    timers.expected = before
    timers.queue.begin(100)
    timers.advance(100, renew=False)


def test_a_timer_has_the_due_time_of_the_timer_that_registered_it() -> None:
    timers = Timers()
    timers.queue.begin(10)
    timers.queue.register(3, "a", None, due=8)
    timers.queue.register(4, "a", None)
    popped = [timers.queue.pop(10), timers.queue.pop(10)]
    assert [t.due for t in popped if t is not None] == [8, None]


def test_registrations_beyond_their_own_limit_wait() -> None:
    timers = Timers()
    timers.queue.begin(10, 9)
    timers.queue.register(9, "a", None)
    timers.queue.register(10, "a", None)
    first = timers.queue.pop(10)
    assert first is not None
    assert first.time == 9
    assert timers.queue.pop(10) is None
    timers.queue.flush()
    assert timers.queue.earliest == 10


def test_after_stop_firing_registrations_wait() -> None:
    timers = Timers()
    timers.queue.begin(10)
    timers.queue.stop_firing()
    timers.queue.register(3, "a", None)
    assert timers.queue.pop(10) is None


def test_a_timer_that_is_registered_again_before_it_fires_fires_once() -> None:
    """Also if new timers for the same time wait for the next batch, like processing timers for the time of the batch."""
    base = MemoryView()
    store = Store(base)
    queue = TimerQueue(store, b"t", KeyTable(128))
    queue.begin(0)
    queue.register(9, "a", None)
    queue.flush()
    base.apply(store.take_changes())
    queue.begin(9, 8)
    queue.register(9, "a", None)
    fired = queue.pop(9)
    assert fired is not None
    assert fired.time == 9
    assert queue.pop(9) is None
    queue.flush()
    assert queue.earliest is None
