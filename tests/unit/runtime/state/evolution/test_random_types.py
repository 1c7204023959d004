"""Random types, random changes that a state survives, random values: migrated bytes are what Python makes of the value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Row, Types
from penstock.runtime.codec import codec_of
from penstock.runtime.evolution.describe import describe
from penstock.runtime.evolution.natural import value_reader
from penstock.runtime.evolution.shape import shape_of_plain
from penstock.runtime.evolution.values import compare_values
from penstock.types import TypeInformation, type_information
from penstock.types.evolution import state_type


@dataclass
class Case:
    """A type before and after, values of it, and what becomes of them."""

    before: Any
    after: Any
    values: st.SearchStrategy[Any]
    becomes: Callable[[Any], Any]


_SMALL = st.integers(-(2**31), 2**31 - 1)


def _leaf() -> st.SearchStrategy[Case]:
    return st.sampled_from(
        [
            Case(int, int, _SMALL, lambda v: v),
            Case(int, float, _SMALL, float),
            Case(str, str, st.text(max_size=5), lambda v: v),
            Case(int, int | None, _SMALL, lambda v: v),
            Case(bool, bool, st.booleans(), lambda v: v),
            Case(float, float, st.floats(allow_nan=False), lambda v: v),
            Case(bytes, bytes, st.binary(max_size=4), lambda v: v),
        ]
    )


def _lists(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return of.map(
        lambda c: Case(
            GenericAlias(list, (c.before,)),
            GenericAlias(list, (c.after,)),
            st.lists(c.values, max_size=3),
            lambda v: [c.becomes(e) for e in v],
        )
    )


def _maps(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return of.map(
        lambda c: Case(
            GenericAlias(dict, (str, c.before)),
            GenericAlias(dict, (str, c.after)),
            st.dictionaries(st.text(max_size=2), c.values, max_size=3),
            lambda v: {k: c.becomes(e) for k, e in v.items()},
        )
    )


def _options(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return of.map(
        lambda c: Case(
            c.before | None, c.after | None, st.none() | c.values, lambda v: None if v is None else c.becomes(v)
        )
    )


def _made(kind: str, name: str, fields: list[tuple[str, Any]], defaults: dict[str, Any]) -> Any:
    """A class of records; fields with defaults stand last, as Python wants it."""
    ordered = [f for f in fields if f[0] not in defaults] + [f for f in fields if f[0] in defaults]
    full = [(n, t, defaults[n]) if n in defaults else (n, t) for n, t in ordered]
    if kind == "dataclass":
        return make_dataclass(name, full)
    if kind == "named tuple":
        made: Any = NamedTuple(name, ordered)  # type: ignore[misc]
        made.__new__.__defaults__ = tuple(defaults[n] for n, _ in ordered if n in defaults)
        made._field_defaults = {n: defaults[n] for n, _ in ordered if n in defaults}
        return made
    return msgspec.defstruct(name, full, array_like=kind == "array")


@st.composite
def _records(draw: Any, of: st.SearchStrategy[Case]) -> Case:
    cases: list[Case] = draw(st.lists(of, min_size=1, max_size=4))
    names = [f"f{i}" for i in range(len(cases))]
    removed = set(draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))) if len(names) > 1 else set()
    renamed = {n: f"new_{n}" for n in draw(st.sets(st.sampled_from(names))) if n not in removed}
    added = draw(st.sampled_from([[], ["x"], ["x", "y"]]))
    kept = [n for n in names if n not in removed]
    order = draw(st.permutations(kept))
    kinds = st.sampled_from(["dataclass", "struct", "array", "named tuple"])
    before = _made(draw(kinds), "Before", [(n, c.before) for n, c in zip(names, cases, strict=True)], {})
    by_name = dict(zip(names, cases, strict=True))
    fields = [(renamed.get(n, n), by_name[n].after) for n in order] + [(a, str) for a in added]
    after = _made(draw(kinds), "After", fields, {a: f"default {a}" for a in added})
    state_type(aliases={new: old for old, new in renamed.items()})(after)

    def becomes(value: Any) -> Any:
        found = {renamed.get(n, n): by_name[n].becomes(getattr(value, n)) for n in kept}
        return after(**found)

    values = st.tuples(*(c.values for c in cases)).map(lambda v: before(**dict(zip(names, v, strict=True))))
    return Case(before, after, values, becomes)


_CASES = st.recursive(_leaf(), lambda of: _lists(of) | _maps(of) | _options(of) | _records(of), max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_python_types(data: st.DataObject) -> None:
    case = data.draw(_CASES)
    _check(type_information(case.before), type_information(case.after), data.draw(case.values), case.becomes)


def _check(before: TypeInformation, after: TypeInformation, value: Any, becomes: Callable[[Any], Any]) -> None:
    saved = shape_of_plain(msgspec.json.decode(msgspec.json.encode(describe(before).plain())))
    assert saved == describe(before)
    found, rewrite = compare_values(saved, describe(after), after)
    assert not found.obstacles
    stored = codec_of(before).encode(value)
    migrated = stored if rewrite is None else rewrite(stored)
    expected = None if value is None else becomes(value)
    assert codec_of(after).decode(migrated) == expected
    assert migrated == codec_of(after).encode(expected) or rewrite is None  # nothing of the old form remains
    if found.in_place:
        assert codec_of(after).decode(stored) == expected
    value_reader(saved)(stored)  # never needs the classes


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
    names = [f"f{i}" for i in range(len(parts))]
    kept = data.draw(st.lists(st.sampled_from(names), unique=True))
    by_name = dict(zip(names, parts, strict=True))
    before = Types.ROW_NAMED(names, [p[0] for p in parts])
    new_names = [*(f"new_{n}" for n in kept), "added"]
    after = Types.ROW_NAMED(new_names, [*(by_name[n][1] for n in kept), Types.LONG()]).evolved(
        aliases={f"new_{n}": n for n in kept}, defaults={"added": 5}
    )
    value = Row(**{n: data.draw(st.none() | p[2]) for n, p in by_name.items()})

    def becomes(row: Row) -> Row:
        found = {f"new_{n}": None if row[n] is None else by_name[n][3](row[n]) for n in kept}
        return Row(**found, added=5)

    _check(before, after, value, becomes)
