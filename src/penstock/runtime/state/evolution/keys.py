"""Types of keys: state is found by a key's bytes. Which types may change so that equal keys keep them."""

from __future__ import annotations

from penstock.runtime.evolution.resolve import Comparison, has_other_version, taken_fields
from penstock.runtime.evolution.shape import Part, Shape

_NUMBERS = ("bool", "int", "bigint", "float", "decimal")  # from narrow to wide; equal numbers are one key
_WHY = "its bytes would be others, by which its state and its key group are found. A new state under the new key can start empty"


def compare_keys(saved: Shape, wanted: Shape) -> Comparison:
    """Compares two types of keys, whose stored keys are to stay as they are.

    >>> compare_keys(Shape("int", bits=32), Shape("float", bits=64)).obstacles
    []
    >>> compare_keys(Shape("int"), Shape("str")).obstacles[0][:24]
    'key: int became str, and'
    """
    found = Comparison()
    _compare(saved, wanted, "key", found)
    return found


def _compare(saved: Shape, wanted: Shape, path: str, found: Comparison) -> None:
    if saved.short() != wanted.short():
        found.differences.append(f"{path}: {saved.short()} became {wanted.short()}")
    if has_other_version(saved, wanted):
        _impossible(saved, wanted, path, found)
        return
    if "pickle" in (saved.kind, wanted.kind) or "any" in (saved.kind, wanted.kind):
        return  # not declared: keys are what the program makes them
    if saved.kind in _NUMBERS and wanted.kind in _NUMBERS:
        if _NUMBERS.index(saved.kind) > _NUMBERS.index(wanted.kind):
            _impossible(saved, wanted, path, found)
        return
    first, second = _parts(saved), _parts(wanted)
    if first is None or second is None:
        if (saved.kind, saved.name) != (wanted.kind, wanted.name):
            _impossible(saved, wanted, path, found)
        return
    if _label(saved) != _label(wanted) or not _in_place(first, second, wanted, path, found):
        _impossible(saved, wanted, path, found)
        return
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        _compare(one.type, other.type, f"{path}.{other.name}" if other.name else f"{path}[{number}]", found)


def _parts(shape: Shape) -> list[Part] | None:
    """The parts of a key that has some, as its bytes have them: by their places; of a row by their names."""
    if shape.kind == "tuple":
        return [Part("", part) for part in shape.of]
    if shape.kind != "record":
        return None
    return sorted(shape.fields, key=lambda part: part.name) if shape.form == "row" else shape.fields


def _in_place(first: list[Part], second: list[Part], wanted: Shape, path: str, found: Comparison) -> bool:
    """Whether each part stands where it stood. A name that is new, without a default, where another is gone is that part's."""
    if len(first) != len(second):
        return False
    if not all(p.name for p in (*first, *second)):  # a tuple: its parts have places only
        return True
    taken = taken_fields([p.name for p in first], wanted)
    for old, new in zip(first, second, strict=True):
        if taken.get(new.name) == old.name:
            if old.name != new.name:
                found.differences.append(f"{path}.{new.name}: was called '{old.name}'")
        elif new.name in taken or old.name in taken.values() or _has_default(wanted, new):
            return False
        else:
            found.differences.append(
                f"{path}: field '{old.name}' is called '{new.name}' now, and is taken by its place"
            )
    return True


def _has_default(wanted: Shape, part: Part) -> bool:
    """Whether the program says what a new field is in old keys; that any field of a row may be None says nothing."""
    if wanted.form == "row":
        return wanted.live is not None and part.name in wanted.live.evolution.defaults
    return part.optional


def _label(shape: Shape) -> str:
    """What is encoded with the parts: a class's name; nothing of tuples, named or not."""
    if shape.kind == "tuple" or (shape.kind == "record" and shape.form == "array" and shape.named_tuple):
        return ""
    return "Row" if shape.form == "row" else shape.name


def _impossible(saved: Shape, wanted: Shape, path: str, found: Comparison) -> None:
    found.obstacles.append(f"{path}: {saved.short()} became {wanted.short()}, and {_WHY}")
