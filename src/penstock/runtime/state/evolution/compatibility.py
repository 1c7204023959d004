"""Compares a saved type with the current one: the differences, and how to convert values, if possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.state.evolution.migration import plain_default, plain_migration
from penstock.runtime.state.evolution.records import FieldSource, record_converter, same_bytes
from penstock.runtime.state.evolution.scalars import renumbered_members, scalar_conversion
from penstock.runtime.state.evolution.shape import COLLECTIONS, Shape, ShapeField
from penstock.runtime.state.evolution.unions import member_selector

Convert = Callable[[Any], Any]  # converts plain values, which are what msgpack decodes without a type


@dataclass(slots=True)
class Comparison:
    """The result of comparing two types."""

    convert: Convert | None = None  # None: plain values stay the same
    differences: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why values cannot be converted
    checked: bool = False  # whether single values may turn out not to fit
    in_place: bool = True  # whether the decoder of the current type reads the saved bytes


def compare(saved: Shape, current: Shape) -> Comparison:
    """Compares a saved type with the current type of the program.

    >>> from penstock.runtime.state.evolution.shape import ShapeField
    >>> saved = Shape("record", name="P", form="map", fields=[ShapeField("n", Shape("int", bits=32))])
    >>> current = Shape("record", name="P", form="map", fields=[ShapeField("n", Shape("float", bits=64))])
    >>> comparison = compare(saved, current)
    >>> comparison.differences, comparison.convert({"n": 1})
    (['n: INT became float'], {'n': 1.0})
    """
    comparer = _Comparer()
    comparer.result.convert = comparer.compare(saved, current, "", top=True)
    return comparer.result


class _Comparer:
    def __init__(self) -> None:
        self.result = Comparison()
        self._saved: dict[str, Shape] = {}  # enclosing records by name, since a class may contain itself
        self._current: dict[str, Shape] = {}
        self._pairs: dict[tuple[int, int], list[Convert | None]] = {}

    def _add_difference(self, path: str, text: str) -> None:
        message = f"{path}: {text}" if path else text
        if message not in self.result.differences:
            self.result.differences.append(message)

    def _add_obstacle(self, path: str, text: str) -> None:
        message = f"{path}: {text}" if path else text
        if message not in self.result.obstacles:
            self.result.obstacles.append(message)

    def compare(self, saved: Shape, current: Shape, path: str, top: bool = False) -> Convert | None:
        saved_null, current_null = saved.null, current.null
        saved, current = (
            self._saved.get(saved.name, saved) if saved.kind == "self" else saved,
            (self._current.get(current.name, current) if current.kind == "self" else current),
        )
        if not top and saved_null != current_null:
            self._add_difference(path, "may be None now" if current_null else "must not be None anymore")
            self.result.checked = self.result.checked or saved_null
        convert = self._compare_non_null(saved, current, path)
        if convert is None:
            return None
        return lambda value: None if value is None else convert(value)

    def _compare_non_null(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        if needs_migration(saved, current):
            if saved.version > current.version:
                self._add_obstacle(
                    path,
                    f"was written by version {saved.version} of {current.short()}, which is newer than the version of the program",
                )
                return None
            self._add_difference(
                path, f"version {saved.version} is converted to {current.version} by its migrate function"
            )
            self.result.in_place = False
            self.result.checked = True
            return plain_migration(saved, current)
        if saved.kind == "union" or current.kind == "union":
            return self._compare_unions(saved, current, path)
        if saved.kind == "tuple" and current.kind == "record" and len(saved.of) == len(current.fields):
            named = [ShapeField(w.name, s) for s, w in zip(saved.of, current.fields, strict=True)]
            self._add_difference(path, f"a tuple became {current.short()}; fields are matched by position")
            saved = Shape("record", name=current.name, form="array", fields=named)
        if saved.kind == "record" and current.kind == "record":
            return self._compare_records(saved, current, path)
        if saved.kind == "tuple" and current.kind == "tuple":
            return self._compare_tuples(saved, current, path)
        if saved.kind in (*COLLECTIONS, "tuple") and current.kind in COLLECTIONS:
            return self._compare_collections(saved, current, path)
        if saved.kind == "map" and current.kind == "map":
            return self._compare_maps(saved, current, path)
        return self._compare_scalars(saved, current, path)

    def _compare_scalars(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        conversion = scalar_conversion(saved, current)
        if conversion is None:
            self._add_obstacle(path, f"{saved.short()} cannot be converted to {current.short()} automatically")
            return None
        for old, new in renumbered_members(saved, current).items():
            self._add_difference(path, f"{saved.names[saved.values.index(old)]} was {old!r} and is {new!r} now")
        if saved.short() != current.short() or (saved.kind == "enum" and saved.values != current.values):
            self._add_difference(
                path, _became(saved, current) + (", checked value by value" if conversion.checked else "")
            )
        self.result.checked = self.result.checked or conversion.checked
        self.result.in_place = self.result.in_place and conversion.in_place
        return conversion.convert

    def _compare_collections(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        if saved.kind != current.kind:
            if current.kind in ("set", "frozenset") and saved.kind not in ("set", "frozenset"):
                self._add_obstacle(
                    path,
                    f"{saved.kind} cannot be converted to {current.kind} automatically, because equal elements would be lost",
                )
                return None
            self._add_difference(path, _became(saved, current))
        converts = [self.compare(s, current.of[0], f"{path}[]") for s in saved.of]
        if not any(converts):
            return None
        if saved.kind == "tuple":
            each = [c or _identity for c in converts]
            return lambda values: [c(v) for c, v in zip(each, values, strict=True)]
        convert = converts[0]
        assert convert is not None
        return lambda values: [convert(v) for v in values]

    def _compare_maps(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        convert_key = self.compare(saved.of[0], current.of[0], f"{path}{{key}}")
        convert_value = self.compare(saved.of[1], current.of[1], f"{path}{{}}")
        if convert_key is None and convert_value is None:
            return None
        key, value = convert_key or _identity, convert_value or _identity
        return lambda entries: {key(k): value(v) for k, v in entries.items()}

    def _compare_tuples(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        both = zip(saved.of, current.of, strict=False)
        converts = [self.compare(s, w, f"{path}[{i}]") for i, (s, w) in enumerate(both)]
        added = current.of[len(saved.of) :]
        for index, shape in enumerate(added, len(saved.of)):
            if shape.null:
                self._add_difference(path, f"[{index}] was added; it is None")
            else:
                self._add_obstacle(path, f"[{index}] was added, but it must not be None")
        for index in range(len(current.of), len(saved.of)):
            self._add_difference(path, f"[{index}] was removed")
        if len(saved.of) == len(current.of) and not any(converts):
            return None
        self.result.in_place = self.result.in_place and len(saved.of) == len(current.of)
        each, missing = [c or _identity for c in converts], [None] * len(added)
        return lambda values: [*(c(v) for c, v in zip(each, values, strict=False)), *missing]

    def _compare_unions(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        members = saved.of if saved.kind == "union" else [saved]
        targets = current.of if current.kind == "union" else [current]
        if saved.short() != current.short():
            self._add_difference(path, _became(saved, current))
        converts = [self._compare_member(member, targets, path) for member in members]
        if not any(converts):
            return None
        select = member_selector(members) if len(members) > 1 else _first
        each = [c or _identity for c in converts]
        return lambda value: each[select(value)](value)

    def _compare_member(self, saved: Shape, targets: list[Shape], path: str) -> Convert | None:
        """Compares a union member with all members of the current union and chooses the closest one."""
        best: tuple[tuple[int, int], _Comparer, Convert | None] | None = None
        for target in targets:
            trial = _Comparer()
            trial._saved, trial._current = dict(self._saved), dict(self._current)
            convert = trial.compare(saved, target, path, top=True)
            if trial.result.obstacles or bool(saved.tag) != bool(target.tag):
                continue
            rank = (saved.name != target.name, len(trial.result.differences))
            if best is None or rank < best[0]:
                best = (rank, trial, convert)
        if best is None:
            self._add_obstacle(
                path, f"{saved.short()} cannot be converted to {' | '.join(t.short() for t in targets)} automatically"
            )
            return None
        _, trial, convert = best
        self.result.differences += [d for d in trial.result.differences if d not in self.result.differences]
        self.result.checked = self.result.checked or trial.result.checked
        self.result.in_place = self.result.in_place and trial.result.in_place
        return convert

    def _compare_records(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        pair = (id(saved), id(current))
        if (known := self._pairs.get(pair)) is not None:  # a record within itself
            return lambda value: known[0](value) if known[0] is not None else value
        this = self._pairs[pair] = [None]
        enclosing = (self._saved, self._current)
        self._saved, self._current = {**self._saved, saved.name: saved}, {**self._current, current.name: current}
        this[0] = self._compare_fields(saved, current, path)
        self._saved, self._current = enclosing
        return this[0]

    def _compare_fields(self, saved: Shape, current: Shape, path: str) -> Convert | None:
        if saved.name != current.name:
            self._add_difference(path, f"{saved.short()} became {current.short()}")
        if saved.form != current.form:
            self._add_difference(path, f"was stored as {_FORMS[saved.form]} and is now {_FORMS[current.form]}")
        before = {f.name: f for f in saved.fields}
        sources = match_fields(list(before), current)
        removed = [name for name in before if name not in sources.values()]
        field_sources: list[FieldSource] = []
        for part in current.fields:
            inside = f"{path}.{part.name}" if path else part.name
            if (source := sources.get(part.name)) is None:
                field_sources.append(self._added_field(current, part, inside, removed))
                continue
            if source != part.name:
                self._add_difference(inside, f"was called '{source}'")
            convert = self.compare(before[source].type, part.type, inside)
            field_sources.append(FieldSource(part.name, source, convert, plain_default(current, part)))
        for name in removed:
            self._add_difference(path, f"field '{name}' was removed")
        matched = [s.source for s in field_sources if s.source is not None]
        if matched != [n for n in before if n in matched]:
            self._add_difference(path, "the order of the fields changed")
        if same_bytes(saved, current, field_sources, removed):
            return None
        self.result.in_place = self.result.in_place and _in_place(saved, current, field_sources)
        return record_converter(saved, current, field_sources)

    def _added_field(self, current: Shape, part: ShapeField, path: str, removed: list[str]) -> FieldSource:
        default = plain_default(current, part)
        hint = f"; if it was called '{removed[0]}' before, declare an alias" if removed else ""
        if default is not None:
            self._add_difference(path, f"was added with a default{hint}")
        elif part.optional:
            self._add_difference(path, f"was added and is absent in old values{hint}")
        elif part.type.null:
            self._add_difference(path, f"was added; it is None{hint}")
            default = _none
        else:
            self._add_obstacle(path, f"was added without a default{hint}")
        return FieldSource(part.name, None, None, default)


def match_fields(before: Sequence[str], current: Shape) -> dict[str, str]:
    """Returns the saved field that each current field is read from: the one with its name, or with an earlier name.

    >>> from penstock.types import Types
    >>> from penstock.runtime.state.evolution.describe import describe
    >>> row = Types.ROW_NAMED(["n", "sum"], [Types.INT(), Types.INT()]).evolved(aliases={"sum": "total"})
    >>> match_fields(["total", "n"], describe(row))
    {'n': 'n', 'sum': 'total'}
    """
    sources = {f.name: f.name for f in current.fields if f.name in before}
    if current.binding is None:
        return sources
    names = current.binding.stored_names
    for name, earlier in current.binding.evolution.aliases.items():
        stored = names.get(name, name)
        source = next((old for old in earlier if old in before and old not in sources.values()), None)
        if stored not in sources and source is not None:
            sources[stored] = source
    return sources


def needs_migration(saved: Shape, current: Shape) -> bool:
    """Whether values of another version can only be converted by the migrate function of the type."""
    return (
        current.binding is not None
        and current.binding.evolution.migrate is not None
        and saved.version != current.version
    )


_FORMS = {"map": "an object with field names", "array": "an object without field names", "row": "a row"}


def _in_place(saved: Shape, current: Shape, sources: list[FieldSource]) -> bool:
    """Whether the decoder of the current class reads the saved values."""
    if saved.form != current.form or saved.tag != current.tag or any(s.source not in (None, s.name) for s in sources):
        return False
    if saved.form == "map":
        return all(s.source is not None or s.default is not _none for s in sources)
    names = [f.name for f in saved.fields]
    return saved.form == "array" and [s.name for s in sources][: len(names)] == names


def _became(saved: Shape, current: Shape) -> str:
    return f"{saved.short()} became {current.short()}"


def _identity(value: Any) -> Any:
    return value


def _first(value: Any) -> int:
    return 0


def _none() -> None:
    return None
