"""The contract of read views, and of the store on them. A new read view is a line in VIEWS."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.runtime.state.store import Changes, MemoryView, Store, after_prefix
from penstock.spark.state.uncompacted_deltas import CommittedDelta
from penstock.spark.state.working_copy import WorkingCopy


class WritableView(Protocol):
    """A read view to which committed changes can be applied."""

    def get(self, key: bytes) -> bytes | None: ...
    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]: ...
    def apply(self, changes: Changes) -> None: ...


class LmdbView:
    """A working copy; each change is a separate delta."""

    def __init__(self, folder: Path) -> None:
        self._copy = WorkingCopy(str(folder), 1 << 24)
        self._number = 0
        self._copy.rebuild([], 0, b"0")

    def get(self, key: bytes) -> bytes | None:
        view = self._copy.view()
        try:
            return view.get(key)
        finally:
            view.close()

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        view = self._copy.view()
        try:
            yield from view.scan(start, stop)
        finally:
            view.close()

    def apply(self, changes: Changes) -> None:
        before = b"%d" % self._number
        self._number += 1
        self._copy.apply(CommittedDelta(changes, self._number, b"%d" % self._number, before))


VIEWS: dict[str, Callable[[Path], WritableView]] = {"memory": lambda folder: MemoryView(), "lmdb": LmdbView}

MakeView = Callable[[], WritableView]


@pytest.fixture(params=VIEWS)
def make_view(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MakeView:
    """Returns a function that creates an empty view."""
    folder = tmp_path_factory.mktemp("base")
    numbers = itertools.count()
    return lambda: VIEWS[request.param](folder / str(next(numbers)))


LONG = b"k" * 458
PARTS = st.text("ab\xff", max_size=3).map(lambda s: s.encode("latin1"))
KEYS = st.one_of(
    PARTS.map(lambda part: b"t" + part),
    st.builds(lambda size, part: LONG + b"k" * size + part, st.sampled_from([0, 4, 5, 6, 20, 21, 22, 60, 900]), PARTS),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.binary(max_size=3)),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("commit")),
    st.tuples(st.just("roll back")),
    st.tuples(st.just("scan"), KEYS, KEYS),
)
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(steps=st.lists(STEPS, max_size=40))
def test_a_store_is_an_ordered_map_with_batches(make_view: MakeView, steps: list[Any]) -> None:
    base = make_view()
    store = Store(base)
    committed: dict[bytes, bytes] = {}
    now: dict[bytes, bytes] = {}
    for what, *rest in steps:
        if what == "put":
            store.put(*rest)
            now[rest[0]] = rest[1]
        elif what == "delete":
            store.delete(rest[0])
            now.pop(rest[0], None)
        elif what == "commit":
            base.apply(store.take_changes())
            committed = dict(now)
        elif what == "roll back":
            store.take_changes()
            now = dict(committed)
        else:
            start, stop = sorted(rest)
            assert list(store.scan(start, stop)) == sorted((k, v) for k, v in now.items() if start <= k < stop)
            assert list(base.scan(start, stop)) == sorted((k, v) for k, v in committed.items() if start <= k < stop)
        for key in [rest[0]] if rest else now:
            assert store.get(key) == now.get(key)
            assert base.get(key) == committed.get(key)
    assert list(store.scan(b"", b"\xff" * 1000)) == sorted(now.items())


@MANY
@given(keys=st.sets(KEYS, max_size=12), deleted=st.sets(KEYS, max_size=6))
def test_a_store_can_be_written_while_it_is_scanned(make_view: MakeView, keys: set[bytes], deleted: set[bytes]) -> None:
    base = make_view()
    base.apply(dict.fromkeys(keys, b"1"))
    store = Store(base)
    for key in deleted:
        store.delete(key)
    seen = []
    for key, _ in store.scan(b"", b"\xff" * 1000):
        seen.append(key)
        store.delete(key)
    assert seen == sorted(keys - deleted)
    assert list(store.scan(b"", b"\xff" * 1000)) == []


def test_changes_are_not_visible_in_the_view_before_they_are_applied(make_view: MakeView) -> None:
    base = make_view()
    base.apply({b"a": b"old", b"b": b"old"})
    store = Store(base)
    store.put(b"a", b"new")
    store.delete(b"b")
    assert (base.get(b"a"), base.get(b"b")) == (b"old", b"old")
    changes = store.take_changes()
    assert changes == {b"a": b"new", b"b": None}
    base.apply(changes)
    assert (base.get(b"a"), base.get(b"b")) == (b"new", None)


def test_deleting_an_absent_key_has_no_effect(make_view: MakeView) -> None:
    base = make_view()
    base.apply({b"a": None, b"b": b"1"})
    assert list(base.scan(b"", b"z")) == [(b"b", b"1")]


def test_a_large_value_is_stored(make_view: MakeView) -> None:
    base = make_view()
    base.apply({b"a": b"x" * 1_000_000})
    assert base.get(b"a") == b"x" * 1_000_000


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_after_prefix_is_after_all_keys_with_the_prefix(prefix: bytes, rest: bytes) -> None:
    assert prefix + rest < after_prefix(prefix)


@given(st.binary(min_size=1, max_size=3), st.binary(max_size=5))
def test_no_other_key_is_before_after_prefix(prefix: bytes, other: bytes) -> None:
    if prefix <= other < after_prefix(prefix) and prefix.strip(b"\xff"):
        assert other.startswith(prefix)
