"""Converts records from one stored form to another, field by field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.runtime.state.evolution.shape import Shape

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class FieldSource:
    """A field of the current record, and the saved field that it is read from."""

    name: str
    source: str | None  # the saved field; None if there was none
    convert: Callable[[Any], Any] | None
    default: Callable[[], Any] | None  # as a plain value; None if the field is required or may be absent


def same_bytes(saved: Shape, current: Shape, sources: list[FieldSource], removed: list[str]) -> bool:
    """Whether the stored bytes stay the same."""
    if removed or saved.form != current.form or saved.tag != current.tag:
        return False
    if any(s.convert is not None or s.source != s.name for s in sources):
        return False
    return saved.form == "map" or [s.name for s in sources] == [f.name for f in saved.fields]


def record_converter(saved: Shape, current: Shape, sources: list[FieldSource]) -> Callable[[Any], Any]:
    """Returns a function that converts the plain form of the saved record to the current one."""
    read = _field_reader(saved, sources)
    if current.form == "map":
        return _map_writer(current, sources, read)
    plan = [(s.convert or _identity, s.default or _none) for s in sources]
    tag = current.tag[1:]

    def array(value: Any) -> list[Any]:
        values = read(value)
        return [
            *tag,
            *(default() if v is _ABSENT else convert(v) for v, (convert, default) in zip(values, plan, strict=True)),
        ]

    if current.form == "array":
        return array
    return lambda value: [value[0] if saved.form == "row" else 0, array(value)]


def _map_writer(current: Shape, sources: list[FieldSource], read: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
    plan = [(s.name, s.convert or _identity, s.default) for s in sources]
    tag = {current.tag[0]: current.tag[1]} if current.tag else {}

    def write(value: Any) -> dict[str, Any]:
        written = dict(tag)
        for (name, convert, default), old in zip(plan, read(value), strict=True):
            if old is not _ABSENT:
                written[name] = convert(old)
            elif default is not None:
                written[name] = default()
        return written

    return write


def _field_reader(saved: Shape, sources: list[FieldSource]) -> Callable[[Any], list[Any]]:
    """Returns a function that reads the saved values of the current fields, in their order."""
    omitted = {f.name: f.omitted for f in saved.fields if f.omitted}
    indexes = {f.name: i for i, f in enumerate(saved.fields)}
    if saved.form == "map":
        names = [(s.source, omitted.get(s.source or "")) for s in sources]

        def read_map(value: Any) -> list[Any]:
            return [
                _ABSENT if name is None else value.get(name, _ABSENT if missing is None else missing[0])
                for name, missing in names
            ]

        return read_map
    start = len(saved.tag) // 2
    at = [-1 if s.source is None else indexes[s.source] + start for s in sources]

    def read_array(value: Any) -> list[Any]:
        count = len(value)
        return [value[i] if 0 <= i < count else _ABSENT for i in at]

    return (lambda value: read_array(value[1])) if saved.form == "row" else read_array


def _identity(value: Any) -> Any:
    return value


def _none() -> None:
    return None
