"""Types of keys: state is found by a key's bytes, so a type may change only where equal keys keep them."""

from __future__ import annotations

from penstock.runtime.evolution.resolve import Comparison
from penstock.runtime.evolution.shape import Shape

_NUMBERS = ("bool", "int", "bigint", "float", "decimal")  # from narrow to wide; equal numbers are one key
_WHY = "its bytes would be others, by which its state and its key group are found. A new state under the new key can start empty"


def compare_keys(saved: Shape, wanted: Shape) -> Comparison:
    """Compares two types of keys.

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
    if _label(saved) != _label(wanted) or len(first) != len(second):
        _impossible(saved, wanted, path, found)
        return
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        _compare(one, other, f"{path}[{number}]", found)


def _parts(shape: Shape) -> list[Shape] | None:
    """The parts of a key that has some; they are encoded by their places."""
    if shape.kind == "tuple":
        return shape.of
    return [f.type for f in shape.fields] if shape.kind == "record" else None


def _label(shape: Shape) -> str:
    """What is encoded with the parts: a class's name; nothing of tuples, named or not."""
    if shape.kind == "tuple" or (shape.kind == "record" and shape.form == "array" and shape.named_tuple):
        return ""
    return "Row" if shape.form == "row" else shape.name


def _impossible(saved: Shape, wanted: Shape, path: str, found: Comparison) -> None:
    found.obstacles.append(f"{path}: {saved.short()} became {wanted.short()}, and {_WHY}")
