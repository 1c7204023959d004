"""Entries in forms of operators' own: what windows by columns measure, and the events that patterns wait with."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.runtime.codec import CHECKED, PICKLED
from penstock.runtime.evolution.resolve import Comparison
from penstock.runtime.evolution.shape import Shape
from penstock.runtime.evolution.stored import Rewrite

OWN_FORMS = ("measures", "patterns")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_BEFORE = {"windows": 1, "sessions": 3}  # what stands before the measures: a count; start, end and count


def compare_measures(saved: Shape, wanted: Shape) -> tuple[Comparison, Rewrite | None]:
    """Windows by columns: each measure is found by what it is of.

    >>> before, after = Shape("measures", values=["sum(a)", "max(b)"]), Shape("measures", values=["max(b)"])
    >>> found, rewrite = compare_measures(before, after)
    >>> found.differences, _decode(rewrite(CHECKED + _encode((2, 30, 4)))[1:])
    (['sum(a) is not kept any more'], [2, 4])
    """
    if (saved.kind, saved.form) != (wanted.kind, wanted.form):
        return Comparison(obstacles=[f"{saved.short()} cannot become {wanted.short()}"], in_place=False), None
    missing = [f"{m} was not kept before" for m in wanted.values if m not in saved.values]
    gone = [f"{m} is not kept any more" for m in saved.values if m not in wanted.values]
    if saved.values == wanted.values or missing:
        return Comparison(differences=gone, obstacles=missing, in_place=not missing), None
    before = _BEFORE.get(saved.form, 1)
    places = [*range(before), *(before + saved.values.index(m) for m in wanted.values)]

    def row(values: Any) -> list[Any]:
        return [values[at] for at in places]

    def sessions(entry: Any) -> Any:
        return entry[0], [row(session) for session in entry[1]]

    told = gone or ["measures stand in another order"]
    rewrite = _either(sessions if saved.form == "sessions" else row)
    return Comparison(differences=told, in_place=False), rewrite


def _either(change: Callable[[Any], Any]) -> Rewrite:
    """Of an entry that is msgpack, or a pickle where msgpack does not have all of it."""

    def rewrite(data: bytes) -> bytes:
        if data[0]:
            return CHECKED + _encode(change(_decode(data[1:])))
        return PICKLED + pickle.dumps(change(pickle.loads(memoryview(data)[1:])), 5)

    return rewrite


def in_patterns(rewrite: Rewrite) -> Rewrite:
    """Rewrites the events that a key's patterns keep (`runtime/cep/key_state.py`); pickled ones stay."""

    def event(data: bytes) -> bytes:
        return rewrite(data) if data[0] else data

    def whole(data: bytes) -> bytes:
        number, timer, queue, events, links, runs = _decode(_decode(data[1:]))
        queue[1::3] = map(event, queue[1::3])
        events[2::3] = map(event, events[2::3])
        return CHECKED + _encode(_encode((number, timer, queue, events, links, runs)))

    return whole
