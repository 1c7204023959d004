"""Random types of keys, random changes of them, random keys; and random jobs, elements and parallelisms."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Row, Types
from penstock.runtime.evolution.describe import describe_key
from penstock.runtime.evolution.key_change import compare_key_types
from penstock.runtime.evolution.shape import shape_of_plain
from penstock.runtime.keys import encode_key
from penstock.types import type_information
from penstock.types.evolution import state_type
from tests.evolution.key_changes import CHANGES
from tests.evolution.rekeyed import JOBS, job, state_of


@dataclass
class Case:
    """A type of keys before and after, keys of it, and what becomes of them."""

    before: Any
    after: Any
    values: st.SearchStrategy[Any]
    becomes: Callable[[Any], Any]


_SMALL = st.integers(-(2**31), 2**31 - 1)
_LEAVES = st.sampled_from(
    [
        Case(int, int, _SMALL, lambda v: v),
        Case(int, float, _SMALL, float),
        Case(str, str, st.text(max_size=5), lambda v: v),
        Case(str, str | None, st.text(max_size=5), lambda v: v),
        Case(bool, bool, st.booleans(), lambda v: v),
        Case(float, float, st.floats(allow_nan=False), lambda v: v),
        Case(bytes, bytes, st.binary(max_size=4), lambda v: v),
    ]
)


def _tuples(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return st.lists(of, min_size=1, max_size=3).map(
        lambda cases: Case(
            GenericAlias(tuple, tuple(c.before for c in cases)),
            GenericAlias(tuple, tuple(c.after for c in cases)),
            st.tuples(*(c.values for c in cases)),
            lambda v: tuple(c.becomes(e) for c, e in zip(cases, v, strict=True)),
        )
    )


def _made(kind: str, name: str, fields: list[tuple[str, Any]], defaults: dict[str, Any]) -> Any:
    full = [(n, t, defaults[n]) if n in defaults else (n, t) for n, t in fields]
    if kind == "dataclass":
        return make_dataclass(name, full, frozen=True)
    if kind == "named tuple":
        made: Any = NamedTuple(name, fields)  # type: ignore[misc]
        made.__new__.__defaults__ = tuple(defaults[n] for n, _ in fields if n in defaults)
        made._field_defaults = {n: defaults[n] for n, _ in fields if n in defaults}
        return made
    return msgspec.defstruct(name, full, frozen=True, array_like=kind == "array")


@st.composite
def _records(draw: Any, of: st.SearchStrategy[Case]) -> Case:
    cases: list[Case] = draw(st.lists(of, min_size=1, max_size=4))
    names = [f"f{i}" for i in range(len(cases))]
    removed = set(draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))) if len(names) > 1 else set()
    renamed = {n: f"new_{n}" for n in draw(st.sets(st.sampled_from(names))) if n not in removed}
    added = draw(st.sampled_from([[], ["x"], ["x", "y"]]))
    kept = [n for n in names if n not in removed]
    kinds = st.sampled_from(["dataclass", "struct", "array", "named tuple"])
    by_name = dict(zip(names, cases, strict=True))
    # Classes may have one name, so that only fields tell what changed.
    before = _made(draw(kinds), "Key", [(n, c.before) for n, c in by_name.items()], {})
    fields = [(renamed.get(n, n), by_name[n].after) for n in draw(st.permutations(kept))] + [(a, str) for a in added]
    after = _made(draw(kinds), draw(st.sampled_from(["Key", "Other"])), fields, {a: f"default {a}" for a in added})
    state_type(aliases={new: old for old, new in renamed.items()})(after)

    def becomes(value: Any) -> Any:
        return after(**{renamed.get(n, n): by_name[n].becomes(getattr(value, n)) for n in kept})

    values = st.tuples(*(c.values for c in cases)).map(lambda v: before(**dict(zip(names, v, strict=True))))
    return Case(before, after, values, becomes)


_CASES = st.recursive(_LEAVES, lambda of: _tuples(of) | _records(of), max_leaves=6)


def _check(case: Case, value: Any) -> None:
    before, after = type_information(case.before), type_information(case.after)
    saved = shape_of_plain(msgspec.json.decode(msgspec.json.encode(describe_key(before).plain())))
    found = compare_key_types(saved, after)
    assert not found.obstacles
    old, new = encode_key(value)[0], encode_key(case.becomes(value))[0]
    if found.make is None:
        assert old == new
    else:
        made = found.make(old)
        assert made == case.becomes(value)
        assert encode_key(made)[0] == new


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_types(data: st.DataObject) -> None:
    case = data.draw(_CASES)
    _check(case, data.draw(case.values))


_FLINK = [
    (Types.INT(), Types.LONG(), _SMALL, lambda v: v),
    (Types.INT(), Types.DOUBLE(), _SMALL, float),
    (Types.LONG(), Types.BIG_INT(), _SMALL, lambda v: v),
    (Types.STRING(), Types.STRING(), st.text(max_size=3), lambda v: v),
    (Types.SQL_DATE(), Types.SQL_DATE(), st.dates(), lambda v: v),
]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_rows(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(_FLINK), min_size=1, max_size=4))
    names = data.draw(st.permutations([f"f{i}" for i in range(len(parts))]))
    kept = data.draw(st.lists(st.sampled_from(names), unique=True))
    by_name: dict[str, Any] = dict(zip(names, parts, strict=True))
    new_names = {n: data.draw(st.sampled_from([n, f"a_{n}", f"z_{n}"])) for n in kept}
    before = Types.ROW_NAMED(names, [p[0] for p in parts])
    after = Types.ROW_NAMED([*new_names.values(), "added"], [*(by_name[n][1] for n in kept), Types.LONG()]).evolved(
        aliases={new: old for old, new in new_names.items() if old != new}, defaults={"added": 5}
    )

    def becomes(row: Row) -> Row:
        found = {new_names[n]: None if row[n] is None else by_name[n][3](row[n]) for n in kept}
        return Row(**found, added=5)

    value = Row(**{n: data.draw(st.none() | p[2]) for n, p in by_name.items()})
    _check(Case(before, after, st.none(), becomes), value)


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
