"""Records field by field: reads one stored form, writes another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.runtime.evolution.shape import Shape

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Slot:
    """A field of the new record, and what it is made of."""

    name: str
    source: str | None  # the saved field; None: there was none
    change: Callable[[Any], Any] | None
    default: Callable[[], Any] | None  # plain; None: it must be there, or is left out


def same_bytes(saved: Shape, wanted: Shape, slots: list[Slot], lost: list[str]) -> bool:
    """Whether nothing is to do."""
    if lost or saved.form != wanted.form or saved.tag != wanted.tag:
        return False
    if any(s.change is not None or s.source != s.name for s in slots):
        return False
    return saved.form == "map" or [s.name for s in slots] == [f.name for f in saved.fields]


def changing(saved: Shape, wanted: Shape, slots: list[Slot]) -> Callable[[Any], Any]:
    """Makes the plain form of the new record of the old one's."""
    read = _reading(saved, slots)
    if wanted.form == "map":
        return _writing_map(wanted, slots, read)
    changes = [(s.change or _same, s.default or _nothing) for s in slots]
    tag = wanted.tag[1:]

    def array(value: Any) -> list[Any]:
        values = read(value)
        return [
            *tag,
            *(default() if v is _ABSENT else change(v) for v, (change, default) in zip(values, changes, strict=True)),
        ]

    if wanted.form == "array":
        return array
    return lambda value: [value[0] if saved.form == "row" else 0, array(value)]


def _writing_map(wanted: Shape, slots: list[Slot], read: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
    plan = [(s.name, s.change or _same, s.default) for s in slots]
    tag = {wanted.tag[0]: wanted.tag[1]} if wanted.tag else {}

    def write(value: Any) -> dict[str, Any]:
        made = dict(tag)
        for (name, change, default), found in zip(plan, read(value), strict=True):
            if found is not _ABSENT:
                made[name] = change(found)
            elif default is not None:
                made[name] = default()
        return made

    return write


def _reading(saved: Shape, slots: list[Slot]) -> Callable[[Any], list[Any]]:
    """The saved values of the new fields, in their order."""
    omitted = {f.name: f.omitted for f in saved.fields if f.omitted}
    places = {f.name: i for i, f in enumerate(saved.fields)}
    if saved.form == "map":
        sources = [(s.source, omitted.get(s.source or "")) for s in slots]

        def of_map(value: Any) -> list[Any]:
            return [
                _ABSENT if name is None else value.get(name, _ABSENT if missing is None else missing[0])
                for name, missing in sources
            ]

        return of_map
    before = len(saved.tag) // 2
    wanted = [-1 if s.source is None else places[s.source] + before for s in slots]

    def of_array(value: Any) -> list[Any]:
        count = len(value)
        return [value[at] if 0 <= at < count else _ABSENT for at in wanted]

    return (lambda value: of_array(value[1])) if saved.form == "row" else of_array


def _same(value: Any) -> Any:
    return value


def _nothing() -> None:
    return None
