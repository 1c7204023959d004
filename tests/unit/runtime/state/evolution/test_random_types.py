"""Random types, compatible random changes and random values: migrated bytes equal the converted value."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Row, Types
from penstock.runtime.state.codec import codec_of
from penstock.runtime.state.evolution.describe import describe
from penstock.runtime.state.evolution.python_values import value_reader
from penstock.runtime.state.evolution.shape import read_shape
from penstock.runtime.state.evolution.values import compare_values
from penstock.types import TypeInformation, type_information
from tests.unit.runtime.state.evolution.random_types import FLINK, LEAVES, SMALL, Case, records

_LEAVES = st.sampled_from([*LEAVES, Case(int, int | None, SMALL, lambda v: v)])


def _lists(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return of.map(
        lambda c: Case(
            GenericAlias(list, (c.before,)),
            GenericAlias(list, (c.after,)),
            st.lists(c.values, max_size=3),
            lambda v: [c.convert(e) for e in v],
        )
    )


def _maps(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return of.map(
        lambda c: Case(
            GenericAlias(dict, (str, c.before)),
            GenericAlias(dict, (str, c.after)),
            st.dictionaries(st.text(max_size=2), c.values, max_size=3),
            lambda v: {k: c.convert(e) for k, e in v.items()},
        )
    )


def _options(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return of.map(
        lambda c: Case(
            c.before | None, c.after | None, st.none() | c.values, lambda v: None if v is None else c.convert(v)
        )
    )


def _records(of: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    return records(of, "Before", ["After"])


_CASES = st.recursive(_LEAVES, lambda of: _lists(of) | _maps(of) | _options(of) | _records(of), max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_python_types(data: st.DataObject) -> None:
    case = data.draw(_CASES)
    _check(type_information(case.before), type_information(case.after), data.draw(case.values), case.convert)


def _check(before: TypeInformation, after: TypeInformation, value: Any, convert: Callable[[Any], Any]) -> None:
    saved = read_shape(msgspec.json.decode(msgspec.json.encode(describe(before).to_builtins())))
    assert saved == describe(before)
    comparison, rewrite = compare_values(saved, describe(after), after)
    assert not comparison.obstacles
    stored = codec_of(before).encode(value)
    migrated = stored if rewrite is None else rewrite(stored)
    expected = None if value is None else convert(value)
    assert codec_of(after).decode(migrated) == expected
    assert migrated == codec_of(after).encode(expected) or rewrite is None  # nothing of the old form remains
    if comparison.in_place:
        assert codec_of(after).decode(stored) == expected
    value_reader(saved)(stored)  # never needs the classes


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_rows(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(FLINK), min_size=1, max_size=4))
    names = [f"f{i}" for i in range(len(parts))]
    remaining = data.draw(st.lists(st.sampled_from(names), unique=True))
    by_name = dict(zip(names, parts, strict=True))
    before = Types.ROW_NAMED(names, [p[0] for p in parts])
    new_names = [*(f"new_{n}" for n in remaining), "added"]
    after = Types.ROW_NAMED(new_names, [*(by_name[n][1] for n in remaining), Types.LONG()]).evolved(
        aliases={f"new_{n}": n for n in remaining}, defaults={"added": 5}
    )
    value = Row(**{n: data.draw(st.none() | p[2]) for n, p in by_name.items()})

    def convert(row: Row) -> Row:
        comparison = {f"new_{n}": None if row[n] is None else by_name[n][3](row[n]) for n in remaining}
        return Row(**comparison, added=5)

    _check(before, after, value, convert)
