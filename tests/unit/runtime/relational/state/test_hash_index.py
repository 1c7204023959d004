"""The index of places by hash, compared with a dict; and blocks of keys that have the same hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.loop.operator import FunctionRuntimeContext, OperatorContext
from penstock.runtime.relational.keys import encode_keys
from penstock.runtime.relational.state import hash_index
from penstock.runtime.relational.state.block_table import BlockTable
from penstock.runtime.relational.state.hash_index import HashedKeys, HashIndex
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.runtime.state.timers import TimerQueue
from penstock.types.logical.kinds import INT, STRING

GROUPS = 4


class State:
    """The committed state of an operator; `context` opens it again."""

    def __init__(self) -> None:
        self.base = MemoryView()
        self.tables = StateTables()

    @contextmanager
    def context(self) -> Iterator[OperatorContext]:
        """Commits what was written inside."""
        store, keys = Store(self.base), KeyTable(GROUPS)
        backend = KeyedStateStore(store, self.tables, "op", keys, False)
        runtime = FunctionRuntimeContext(
            uid="op", name="op", index=0, parallelism=1, max_parallelism=GROUPS, parameters={}, backend=backend
        )
        yield OperatorContext(backend, TimerQueue(store, b"te", keys), TimerQueue(store, b"tp", keys), runtime)
        self.base.apply(store.take_changes())


def keys_of(hashes: list[int]) -> HashedKeys:
    found = np.array(hashes, np.uint64)
    return HashedKeys([b"%d" % h for h in hashes], found, (found % np.uint64(GROUPS)).astype(np.int64))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True)),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("find"), st.lists(st.integers(0, 45), max_size=12, unique=True)),
    ),
    max_size=60,
)


@pytest.mark.parametrize("page", [1, 3, 4096])
@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_places_are_those_of_a_dict(page: int, steps: list[tuple[str, list[int] | int]]) -> None:
    state = State()
    expected: dict[int, list[tuple[int, int, int]]] = {}
    blocks: list[tuple[int, int]] = []  # their group and number
    removed: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_index, "_PAGE", page)
        patch.setattr(hash_index, "_RUNS", 3)
        for action, given_ in steps:
            with state.context() as context:
                index = HashIndex(context, "index", TimeToLive(0))
                if action == "add":
                    assert isinstance(given_, list)
                    for group in sorted({h % GROUPS for h in given_}):
                        number = sum(g == group for g, _ in blocks) + 1
                        hashes = [h for h in given_ if h % GROUPS == group]
                        places = [(number, 2 * i, i + 1) for i in range(len(hashes))]
                        blocks.append((group, number))
                        index.add(
                            group,
                            number,
                            np.array(hashes, np.uint64),
                            np.array([p[1] for p in places]),
                            np.array([p[2] for p in places]),
                        )
                        for h, place in zip(hashes, places, strict=True):
                            expected.setdefault(h, []).append(place)
                elif action == "remove":
                    assert isinstance(given_, int)
                    if given_ >= len(blocks) or given_ in removed:
                        continue
                    group, number = blocks[given_]
                    removed.add(given_)
                    index.remove(group, number)
                    for h, kept in expected.items():
                        if h % GROUPS == group:
                            kept[:] = [place for place in kept if place[0] != number]
                else:
                    assert isinstance(given_, list)
                    found = index.find(keys_of(given_))
                    places_of: dict[int, list[tuple[int, int, int]]] = {}
                    for owner, *found_place in zip(*(column.tolist() for column in found), strict=True):
                        block, first, count = found_place
                        places_of.setdefault(given_[owner], []).append((block, first, count))
                    assert places_of == {h: expected[h] for h in given_ if expected.get(h)}
                    assert found.owners.tolist() == sorted(found.owners.tolist())


def test_the_entries_do_not_grow_with_blocks_that_are_removed() -> None:
    state = State()
    for number in range(1, 201):
        with state.context() as context:
            index = HashIndex(context, "index", TimeToLive(0))
            index.add(0, number, np.array([4 * number], np.uint64), np.array([0]), np.array([1]))
            if number > 10:
                index.remove(0, number - 10)
    assert sum(len(value) for value in state.base.entries.values()) < 2000


def test_keys_with_the_same_hash_are_distinguished() -> None:
    state = State()
    columns = [pa.array(["a", "b", "a"]), pa.array([1, 2, 3], pa.int32())]
    encoded = encode_keys([pa.array(["a", "b"])], [STRING], 2)
    same = HashedKeys(encoded, np.array([8, 8], np.uint64), np.array([0, 0]))
    with state.context() as context:
        BlockTable(context, "left", (STRING, INT), (0,)).add(columns, np.array([0, 1, 0]), same)
    with state.context() as context:
        found, owners = BlockTable(context, "left", (STRING, INT), (0,)).find(same)
    assert owners.tolist() == [0, 0, 1]
    assert [column.to_pylist() for column in found] == [["a", "a", "b"], [1, 3, 2]]
