"""Random types of keys, random changes of them, random keys; and random jobs, elements and parallelisms."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import GenericAlias
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Row, Types
from penstock.runtime.state.evolution.describe import describe_key
from penstock.runtime.state.evolution.key_change import compare_key_types
from penstock.runtime.state.evolution.shape import read_shape
from penstock.runtime.state.keys import encode_key
from penstock.types import type_information
from tests.unit.runtime.state.evolution.key_changes import CHANGES
from tests.unit.runtime.state.evolution.keyed_jobs import JOBS, job, state_of
from tests.unit.runtime.state.evolution.random_types import FLINK, LEAVES, Case, records

_LEAVES = st.sampled_from([*LEAVES, Case(str, str | None, st.text(max_size=5), lambda v: v)])


def _tuples(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return st.lists(of, min_size=1, max_size=3).map(
        lambda cases: Case(
            GenericAlias(tuple, tuple(c.before for c in cases)),
            GenericAlias(tuple, tuple(c.after for c in cases)),
            st.tuples(*(c.values for c in cases)),
            lambda v: tuple(c.convert(e) for c, e in zip(cases, v, strict=True)),
        )
    )


def _records(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    # Classes may have one name, so only fields show what changed.
    return records(of, "Key", ["Key", "Other"], frozen=True)


_CASES = st.recursive(_LEAVES, lambda of: _tuples(of) | _records(of), max_leaves=6)


def _check(case: Case, value: Any) -> None:
    before, after = type_information(case.before), type_information(case.after)
    saved = read_shape(msgspec.json.decode(msgspec.json.encode(describe_key(before).to_builtins())))
    comparison = compare_key_types(saved, after)
    assert not comparison.obstacles
    old, new = encode_key(value)[0], encode_key(case.convert(value))[0]
    if comparison.convert is None:
        assert old == new
    else:
        converted = comparison.convert(old)
        assert converted == case.convert(value)
        assert encode_key(converted)[0] == new


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_types(data: st.DataObject) -> None:
    case = data.draw(_CASES)
    _check(case, data.draw(case.values))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_rows(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(FLINK), min_size=1, max_size=4))
    names = data.draw(st.permutations([f"f{i}" for i in range(len(parts))]))
    remaining = data.draw(st.lists(st.sampled_from(names), unique=True))
    by_name = dict(zip(names, parts, strict=True))
    new_names = {n: data.draw(st.sampled_from([n, f"a_{n}", f"z_{n}"])) for n in remaining}
    before = Types.ROW_NAMED(names, [p[0] for p in parts])
    after = Types.ROW_NAMED(
        [*new_names.values(), "added"], [*(by_name[n][1] for n in remaining), Types.LONG()]
    ).evolved(aliases={new: old for old, new in new_names.items() if old != new}, defaults={"added": 5})

    def convert(row: Row) -> Row:
        comparison = {new_names[n]: None if row[n] is None else by_name[n][3](row[n]) for n in remaining}
        return Row(**comparison, added=5)

    value = Row(**{n: data.draw(st.none() | p[2]) for n, p in by_name.items()})
    _check(Case(before, after, st.none(), convert), value)


_ELEMENTS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["north", "south", "", "ö" * 40]), st.integers(0, 20)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(CHANGES)),
    st.sampled_from(sorted(JOBS)),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.sampled_from([None, 5, 300]), st.sampled_from([None, 7, 300])),
    st.tuples(_ELEMENTS, _ELEMENTS),
)
def test_jobs(change: str, kind: str, slots: tuple[int, int], groups: tuple[Any, Any], fed: tuple[Any, Any]) -> None:
    before, after, _ = CHANGES[change]
    first = job(kind, before, slots[0], groups[0])
    first.feed(fed[0], 0)
    with tempfile.TemporaryDirectory() as folder:
        saved = first.harness.savepoint(Path(folder, "saved"))
        restored = job(kind, after, slots[1], groups[1])
        restored.harness.restore_savepoint(saved)
    fresh = job(kind, after, slots[1], groups[1])
    fresh.feed(fed[0], 0)
    expected = {at: entries for at, entries in state_of(fresh).items() if at[2] != "__keys__"}
    assert {at: entries for at, entries in state_of(restored).items() if at[2] != "__keys__"} == expected
    assert restored.feed(fed[1], len(fed[0])) == fresh.feed(fed[1], len(fed[0]))
    assert restored.end() == fresh.end()
