"""Entries with a format of an operator: the measures of windows on columns, and the events that patterns keep."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.runtime.pickling import dumps
from penstock.runtime.state.codec import CHECKED, PICKLED
from penstock.runtime.state.evolution.compatibility import Comparison
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.evolution.stored_entries import Rewrite

OPERATOR_FORMATS = ("measures", "patterns")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_FIRST_MEASURE = {"windows": 1, "sessions": 3}  # index after the count, or after start, end and count


def compare_measures(saved: Shape, current: Shape) -> tuple[Comparison, Rewrite | None]:
    """Compares the measures of windows on columns. Measures are matched by name.

    >>> before, after = Shape("measures", values=["sum(a)", "max(b)"]), Shape("measures", values=["max(b)"])
    >>> comparison, rewrite = compare_measures(before, after)
    >>> comparison.differences, _decode(rewrite(CHECKED + _encode((2, 30, 4)))[1:])
    (['sum(a) was removed'], [2, 4])
    """
    if (saved.kind, saved.form) != (current.kind, current.form):
        return Comparison(obstacles=[f"{saved.short()} cannot be converted to {current.short()}"], in_place=False), None
    if saved.tag and current.tag and saved.tag != current.tag:
        message = "windows of another size or slide cannot use the stored aggregates"
        return Comparison(obstacles=[message], in_place=False), None
    missing = [f"{m} was not stored before" for m in current.values if m not in saved.values]
    removed = [f"{m} was removed" for m in saved.values if m not in current.values]
    if saved.values == current.values or missing:
        return Comparison(differences=removed, obstacles=missing, in_place=not missing), None
    first = _FIRST_MEASURE.get(saved.form, 1)
    indexes = [*range(first), *(first + saved.values.index(m) for m in current.values)]

    def row(values: Any) -> list[Any]:
        return [values[at] for at in indexes]

    def sessions(entry: Any) -> Any:
        return entry[0], [row(session) for session in entry[1]]

    differences = removed or ["the order of the measures changed"]
    rewrite = _entry_rewriter(sessions if saved.form == "sessions" else row)
    return Comparison(differences=differences, in_place=False), rewrite


def _entry_rewriter(convert: Callable[[Any], Any]) -> Rewrite:
    """Rewrites entries that are msgpack, or a pickle if msgpack cannot encode them."""

    def rewrite(data: bytes) -> bytes:
        if data[0]:
            return CHECKED + _encode(convert(_decode(data[1:])))
        return PICKLED + dumps(convert(pickle.loads(memoryview(data)[1:])))

    return rewrite


def pattern_rewriter(rewrite: Rewrite) -> Rewrite:
    """Rewrites the events that the patterns of a key keep (`runtime/cep/key_state.py`). Pickled events stay unchanged."""

    def rewrite_event(data: bytes) -> bytes:
        return rewrite(data) if data[0] else data

    def rewrite_entry(data: bytes) -> bytes:
        number, timer, queue, events, links, runs = _decode(_decode(data[1:]))
        queue[1::3] = map(rewrite_event, queue[1::3])
        events[2::3] = map(rewrite_event, events[2::3])
        return CHECKED + _encode(_encode((number, timer, queue, events, links, runs)))

    return rewrite_entry
