"""Compares two types: what differs, whether values of the one can become values of the other, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.evolution.leaves import widening
from penstock.runtime.evolution.members import telling
from penstock.runtime.evolution.migrating import migrating, plain_default
from penstock.runtime.evolution.records import Slot, changing, same_bytes
from penstock.runtime.evolution.shape import Part, Shape

Change = Callable[[Any], Any]  # of plain values; they are what msgpack decodes without a type

ARRAYS = ("list", "sequence", "set", "frozenset")


@dataclass(slots=True)
class Comparison:
    """What two types have to do with each other."""

    change: Change | None = None  # None: plain values stay as they are
    differences: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why values cannot be taken over
    checked: bool = False  # whether a value fits is known only when it is read
    in_place: bool = True  # the new type's decoder reads the old type's bytes


def compare(saved: Shape, wanted: Shape) -> Comparison:
    """Compares a type that was saved with the one that a program has now.

    >>> from penstock.runtime.evolution.shape import Part
    >>> saved = Shape("record", name="P", form="map", fields=[Part("n", Shape("int", bits=32))])
    >>> wanted = Shape("record", name="P", form="map", fields=[Part("n", Shape("float", bits=64))])
    >>> found = compare(saved, wanted)
    >>> found.differences, found.change({"n": 1})
    (['n: INT became float'], {'n': 1.0})
    """
    comparing = _Comparing()
    comparing.found.change = comparing.types(saved, wanted, "", top=True)
    return comparing.found


class _Comparing:
    def __init__(self) -> None:
        self.found = Comparison()
        self._saved: dict[str, Shape] = {}  # records around, by name: a class may hold itself
        self._wanted: dict[str, Shape] = {}
        self._pairs: dict[tuple[int, int], list[Change | None]] = {}

    # -- telling

    def _differs(self, path: str, text: str) -> None:
        told = f"{path}: {text}" if path else text
        if told not in self.found.differences:
            self.found.differences.append(told)

    def _impossible(self, path: str, text: str) -> None:
        told = f"{path}: {text}" if path else text
        if told not in self.found.obstacles:
            self.found.obstacles.append(told)

    # -- comparing

    def types(self, saved: Shape, wanted: Shape, path: str, top: bool = False) -> Change | None:
        saved_null, wanted_null = saved.null, wanted.null
        saved, wanted = (
            self._saved.get(saved.name, saved) if saved.kind == "self" else saved,
            (self._wanted.get(wanted.name, wanted) if wanted.kind == "self" else wanted),
        )
        if not top and saved_null != wanted_null:
            self._differs(path, "may be None now" if wanted_null else "must not be None any more")
            self.found.checked = self.found.checked or saved_null
        change = self._change(saved, wanted, path)
        if change is None:
            return None
        return lambda value: None if value is None else change(value)

    def _change(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        if has_other_version(saved, wanted):
            if saved.version > wanted.version:
                self._impossible(
                    path,
                    f"was written by version {saved.version} of {wanted.short()}, which is newer than the program's",
                )
                return None
            self._differs(path, f"version {saved.version} becomes {wanted.version} by its migrate function")
            self.found.in_place = False
            self.found.checked = True
            return migrating(saved, wanted)
        if saved.kind == "union" or wanted.kind == "union":
            return self._unions(saved, wanted, path)
        if saved.kind == "tuple" and wanted.kind == "record" and len(saved.of) == len(wanted.fields):
            named = [Part(w.name, s) for s, w in zip(saved.of, wanted.fields, strict=True)]
            self._differs(path, f"a tuple became {wanted.short()}; fields are taken by their place")
            saved = Shape("record", name=wanted.name, form="array", fields=named)
        if saved.kind == "record" and wanted.kind == "record":
            return self._records(saved, wanted, path)
        if saved.kind == "tuple" and wanted.kind == "tuple":
            return self._tuples(saved, wanted, path)
        if saved.kind in (*ARRAYS, "tuple") and wanted.kind in ARRAYS:
            return self._arrays(saved, wanted, path)
        if saved.kind == "map" and wanted.kind == "map":
            return self._maps(saved, wanted, path)
        return self._leaves(saved, wanted, path)

    def _leaves(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        found = widening(saved, wanted)
        if found is None:
            self._impossible(path, f"{saved.short()} cannot become {wanted.short()} by itself")
            return None
        if saved.short() != wanted.short() or (saved.kind == "enum" and saved.values != wanted.values):
            self._differs(path, _became(saved, wanted) + (", checked value by value" if found.checked else ""))
        self.found.checked = self.found.checked or found.checked
        self.found.in_place = self.found.in_place and found.in_place
        return found.change

    def _arrays(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        if saved.kind != wanted.kind:
            if wanted.kind in ("set", "frozenset") and saved.kind not in ("set", "frozenset"):
                self._impossible(
                    path, f"{saved.kind} cannot become {wanted.kind} by itself: equal elements would be lost"
                )
                return None
            self._differs(path, _became(saved, wanted))
        changes = [self.types(s, wanted.of[0], f"{path}[]") for s in saved.of]
        if not any(changes):
            return None
        if saved.kind == "tuple":
            each = [c or _same for c in changes]
            return lambda values: [c(v) for c, v in zip(each, values, strict=True)]
        change = changes[0]
        assert change is not None
        return lambda values: [change(v) for v in values]

    def _maps(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        of_key = self.types(saved.of[0], wanted.of[0], f"{path}{{key}}")
        of_value = self.types(saved.of[1], wanted.of[1], f"{path}{{}}")
        if of_key is None and of_value is None:
            return None
        key, value = of_key or _same, of_value or _same
        return lambda found: {key(k): value(v) for k, v in found.items()}

    def _tuples(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        both = zip(saved.of, wanted.of, strict=False)
        changes = [self.types(s, w, f"{path}[{i}]") for i, (s, w) in enumerate(both)]
        more = wanted.of[len(saved.of) :]
        for place, shape in enumerate(more, len(saved.of)):
            if shape.null:
                self._differs(path, f"[{place}] was added; it is None")
            else:
                self._impossible(path, f"[{place}] was added, and it must not be None")
        for place in range(len(wanted.of), len(saved.of)):
            self._differs(path, f"[{place}] was removed")
        if len(saved.of) == len(wanted.of) and not any(changes):
            return None
        self.found.in_place = self.found.in_place and len(saved.of) == len(wanted.of)
        each, missing = [c or _same for c in changes], [None] * len(more)
        return lambda values: [*(c(v) for c, v in zip(each, values, strict=False)), *missing]

    def _unions(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        members = saved.of if saved.kind == "union" else [saved]
        targets = wanted.of if wanted.kind == "union" else [wanted]
        if saved.short() != wanted.short():
            self._differs(path, _became(saved, wanted))
        changes = [self._member(member, targets, path) for member in members]
        if not any(changes):
            return None
        which = telling(members) if len(members) > 1 else _first
        each = [c or _same for c in changes]
        return lambda value: each[which(value)](value)

    def _member(self, saved: Shape, targets: list[Shape], path: str) -> Change | None:
        """Of a member of a union: the change to the member that takes its values with the least ado."""
        best: tuple[tuple[int, int], _Comparing, Change | None] | None = None
        for target in targets:
            trial = _Comparing()
            trial._saved, trial._wanted = dict(self._saved), dict(self._wanted)
            change = trial.types(saved, target, path, top=True)
            if trial.found.obstacles or bool(saved.tag) != bool(target.tag):
                continue
            rank = (saved.name != target.name, len(trial.found.differences))
            if best is None or rank < best[0]:
                best = (rank, trial, change)
        if best is None:
            self._impossible(path, f"{saved.short()} cannot become {' | '.join(t.short() for t in targets)} by itself")
            return None
        _, trial, change = best
        self.found.differences += [d for d in trial.found.differences if d not in self.found.differences]
        self.found.checked = self.found.checked or trial.found.checked
        self.found.in_place = self.found.in_place and trial.found.in_place
        return change

    # -- records

    def _records(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        pair = (id(saved), id(wanted))
        if (known := self._pairs.get(pair)) is not None:  # inside of itself
            return lambda value: known[0](value) if known[0] is not None else value
        this = self._pairs[pair] = [None]
        around = (self._saved, self._wanted)
        self._saved, self._wanted = {**self._saved, saved.name: saved}, {**self._wanted, wanted.name: wanted}
        this[0] = self._fields(saved, wanted, path)
        self._saved, self._wanted = around
        return this[0]

    def _fields(self, saved: Shape, wanted: Shape, path: str) -> Change | None:
        if saved.name != wanted.name:
            self._differs(path, f"{saved.short()} became {wanted.short()}")
        if saved.form != wanted.form:
            self._differs(path, f"was stored as {_FORMS[saved.form]} and is {_FORMS[wanted.form]} now")
        before = {f.name: f for f in saved.fields}
        taken = taken_fields(list(before), wanted)
        lost = [name for name in before if name not in taken.values()]
        slots: list[Slot] = []
        for part in wanted.fields:
            inside = f"{path}.{part.name}" if path else part.name
            if (source := taken.get(part.name)) is None:
                slots.append(self._added(wanted, part, inside, lost))
                continue
            if source != part.name:
                self._differs(inside, f"was called '{source}'")
            change = self.types(before[source].type, part.type, inside)
            slots.append(Slot(part.name, source, change, plain_default(wanted, part)))
        for name in lost:
            self._differs(path, f"field '{name}' was removed")
        kept = [s.source for s in slots if s.source is not None]
        if kept != [n for n in before if n in kept]:
            self._differs(path, "fields stand in another order")
        if same_bytes(saved, wanted, slots, lost):
            return None
        self.found.in_place = self.found.in_place and _in_place(saved, wanted, slots)
        return changing(saved, wanted, slots)

    def _added(self, wanted: Shape, part: Part, path: str, lost: list[str]) -> Slot:
        default = plain_default(wanted, part)
        renamed = f"; if it was called '{lost[0]}' before, say so by aliases" if lost else ""
        if default is not None:
            self._differs(path, f"was added with a default{renamed}")
        elif part.optional:
            self._differs(path, f"was added and is left out{renamed}")
        elif part.type.null:
            self._differs(path, f"was added; it is None{renamed}")
            default = _nothing
        else:
            self._impossible(path, f"was added without a default{renamed}")
        return Slot(part.name, None, None, default)


def taken_fields(before: Sequence[str], wanted: Shape) -> dict[str, str]:
    """Which saved field each field is made of: the one of its name, or else of an earlier name.

    >>> from penstock.types import Types
    >>> from penstock.runtime.evolution.describe import describe
    >>> row = Types.ROW_NAMED(["n", "sum"], [Types.INT(), Types.INT()]).evolved(aliases={"sum": "total"})
    >>> taken_fields(["total", "n"], describe(row))
    {'n': 'n', 'sum': 'total'}
    """
    taken = {f.name: f.name for f in wanted.fields if f.name in before}
    if wanted.live is None:
        return taken
    names = wanted.live.stored_names
    for name, earlier in wanted.live.evolution.aliases.items():
        stored = names.get(name, name)
        found = next((old for old in earlier if old in before and old not in taken.values()), None)
        if stored not in taken and found is not None:
            taken[stored] = found
    return taken


def has_other_version(saved: Shape, wanted: Shape) -> bool:
    """Whether only the type's migrate function can tell what values of another version are."""
    return wanted.live is not None and wanted.live.evolution.migrate is not None and saved.version != wanted.version


_FORMS = {"map": "an object by names", "array": "an object by places", "row": "a row"}


def _in_place(saved: Shape, wanted: Shape, slots: list[Slot]) -> bool:
    """Whether the decoder of the new class reads what the old one wrote."""
    if saved.form != wanted.form or saved.tag != wanted.tag or any(s.source not in (None, s.name) for s in slots):
        return False
    if saved.form == "map":
        return all(s.source is not None or s.default is not _nothing for s in slots)
    names = [f.name for f in saved.fields]
    return saved.form == "array" and [s.name for s in slots][: len(names)] == names


def _became(saved: Shape, wanted: Shape) -> str:
    return f"{saved.short()} became {wanted.short()}"


def _same(value: Any) -> Any:
    return value


def _first(value: Any) -> int:
    return 0


def _nothing() -> None:
    return None
