"""Random saved and current types, with values and their conversion; for values and for keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from penstock import Types
from penstock.types.evolution import state_type


@dataclass
class Case:
    """A saved and a current type, values of the saved one, and their conversion."""

    before: Any
    after: Any
    values: st.SearchStrategy[Any]
    convert: Callable[[Any], Any]


SMALL = st.integers(-(2**31), 2**31 - 1)
LEAVES = [
    Case(int, int, SMALL, lambda v: v),
    Case(int, float, SMALL, float),
    Case(str, str, st.text(max_size=5), lambda v: v),
    Case(bool, bool, st.booleans(), lambda v: v),
    Case(float, float, st.floats(allow_nan=False), lambda v: v),
    Case(bytes, bytes, st.binary(max_size=4), lambda v: v),
]
FLINK: list[tuple[Any, Any, st.SearchStrategy[Any], Callable[[Any], Any]]] = [
    (Types.INT(), Types.LONG(), SMALL, lambda v: v),
    (Types.INT(), Types.DOUBLE(), SMALL, float),
    (Types.LONG(), Types.BIG_INT(), SMALL, lambda v: v),
    (Types.STRING(), Types.STRING(), st.text(max_size=3), lambda v: v),
    (Types.SQL_DATE(), Types.SQL_DATE(), st.dates(), lambda v: v),
]
KINDS = st.sampled_from(["dataclass", "struct", "array", "named tuple"])


def _record_class(kind: str, name: str, fields: list[tuple[str, Any]], defaults: dict[str, Any], frozen: bool) -> Any:
    """Creates a record class. Fields with defaults come last, as Python requires."""
    full = [(n, t, defaults[n]) if n in defaults else (n, t) for n, t in fields]
    if kind == "dataclass":
        return make_dataclass(name, full, frozen=frozen)
    if kind == "named tuple":
        record_class: Any = NamedTuple(name, fields)  # type: ignore[misc]
        record_class.__new__.__defaults__ = tuple(defaults[n] for n, _ in fields if n in defaults)
        record_class._field_defaults = {n: defaults[n] for n, _ in fields if n in defaults}
        return record_class
    return msgspec.defstruct(name, full, frozen=frozen, array_like=kind == "array")


@st.composite
def records(
    draw: Any, of: st.SearchStrategy[Case], before_name: str, after_names: list[str], frozen: bool = False
) -> Case:
    """Records whose fields are removed, renamed, reordered and added."""
    cases: list[Case] = draw(st.lists(of, min_size=1, max_size=4))
    names = [f"f{i}" for i in range(len(cases))]
    removed = set(draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))) if len(names) > 1 else set()
    renamed = {n: f"new_{n}" for n in draw(st.sets(st.sampled_from(names))) if n not in removed}
    added = draw(st.sampled_from([[], ["x"], ["x", "y"]]))
    remaining = [n for n in names if n not in removed]
    by_name = dict(zip(names, cases, strict=True))
    before = _record_class(draw(KINDS), before_name, [(n, c.before) for n, c in by_name.items()], {}, frozen)
    fields = [(renamed.get(n, n), by_name[n].after) for n in draw(st.permutations(remaining))] + [
        (a, str) for a in added
    ]
    defaults = {a: f"default {a}" for a in added}
    after = _record_class(draw(KINDS), draw(st.sampled_from(after_names)), fields, defaults, frozen)
    state_type(aliases={new: old for old, new in renamed.items()})(after)

    def convert(value: Any) -> Any:
        return after(**{renamed.get(n, n): by_name[n].convert(getattr(value, n)) for n in remaining})

    values = st.tuples(*(c.values for c in cases)).map(lambda v: before(**dict(zip(names, v, strict=True))))
    return Case(before, after, values, convert)
