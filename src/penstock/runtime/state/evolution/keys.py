"""Compares types of keys. State is found by the encoded key, so only changes that keep the encoding are possible in place."""

from __future__ import annotations

from penstock.runtime.state.evolution.compatibility import Comparison, match_fields, needs_migration
from penstock.runtime.state.evolution.scalars import exact_float, renumbered_members, scalar_conversion
from penstock.runtime.state.evolution.shape import Shape, ShapeField

_NUMBERS = ("bool", "int", "bigint", "float", "decimal")  # from narrow to wide; equal numbers are one key
_WHY = (
    "the encoded key, which determines its key group and where its state is stored, would change. State under the new key can "
    "start empty"
)


def compare_keys(saved: Shape, current: Shape) -> Comparison:
    """Compares two types of keys whose stored keys stay unchanged.

    >>> compare_keys(Shape("int", bits=32), Shape("float", bits=64)).obstacles
    []
    >>> compare_keys(Shape("int"), Shape("str")).obstacles[0][:24]
    'key: int became str, but'
    """
    result = Comparison()
    _compare(saved, current, "key", result)
    return result


def _compare(saved: Shape, current: Shape, path: str, result: Comparison) -> None:
    if saved.short() != current.short():
        result.differences.append(f"{path}: {saved.short()} became {current.short()}")
    if needs_migration(saved, current):
        _add_obstacle(saved, current, path, result)
        return
    if "pickle" in (saved.kind, current.kind) or "any" in (saved.kind, current.kind):
        return  # without a declared type, keys are not compared
    if saved.kind in _NUMBERS and current.kind in _NUMBERS:
        if _NUMBERS.index(saved.kind) > _NUMBERS.index(current.kind):
            _add_obstacle(saved, current, path, result)
        elif (conversion := scalar_conversion(saved, current)) is not None and conversion.convert is exact_float:
            result.checked = True  # an integer with more than 53 bits is no float
        return
    before, after = key_fields(saved), key_fields(current)
    if before is None or after is None:
        if (saved.kind, saved.name) != (current.kind, current.name):
            _add_obstacle(saved, current, path, result)
        elif _is_encoded_by_value(current) and (renumbered := renumbered_members(saved, current)):
            changes = ", ".join(f"{old!r} became {new!r}" for old, new in renumbered.items())
            result.obstacles.append(f"{path}: members of {current.short()} have other values: {changes}, and {_WHY}")
        return
    if key_label(saved) != key_label(current) or not _match_positions(before, after, current, path, result):
        _add_obstacle(saved, current, path, result)
        return
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        _compare(old.type, new.type, f"{path}.{new.name}" if new.name else f"{path}[{number}]", result)


def _is_encoded_by_value(shape: Shape) -> bool:
    """Whether keys that are members of an enumeration are encoded as numbers or text, and not by name."""
    known = None if shape.binding is None else getattr(shape.binding.type_info, "python_type", None)
    return shape.kind == "enum" and isinstance(known, type) and issubclass(known, (int, str))


def key_fields(shape: Shape) -> list[ShapeField] | None:
    """Returns the parts of a key in the order of its encoding: by position, or by name for a row. None if it has no parts."""
    if shape.kind == "tuple":
        return [ShapeField("", part) for part in shape.of]
    if shape.kind != "record":
        return None
    return sorted(shape.fields, key=lambda part: part.name) if shape.form == "row" else shape.fields


def _match_positions(
    before: list[ShapeField], after: list[ShapeField], current: Shape, path: str, result: Comparison
) -> bool:
    """Whether each part has the same position. A new name without a default at the position of a removed one is a renamed part."""
    if len(before) != len(after):
        return False
    if not all(p.name for p in (*before, *after)):  # the parts of a tuple have no names
        return True
    sources = match_fields([p.name for p in before], current)
    for old, new in zip(before, after, strict=True):
        if sources.get(new.name) == old.name:
            if old.name != new.name:
                result.differences.append(f"{path}.{new.name}: was called '{old.name}'")
        elif new.name in sources or old.name in sources.values() or _has_default(current, new):
            return False
        else:
            result.differences.append(f"{path}: field '{old.name}' is now called '{new.name}'; matched by position")
    return True


def _has_default(current: Shape, part: ShapeField) -> bool:
    """Whether a new field has a default for old keys. In a row, that a field may be None does not count as a default."""
    if current.form == "row":
        return current.binding is not None and part.name in current.binding.evolution.defaults
    return part.optional


def key_label(shape: Shape) -> str:
    """Returns the class name that is encoded with the parts; empty for tuples and named tuples."""
    if shape.kind == "tuple" or (shape.kind == "record" and shape.form == "array" and shape.named_tuple):
        return ""
    return "Row" if shape.form == "row" else shape.name


def _add_obstacle(saved: Shape, current: Shape, path: str, result: Comparison) -> None:
    result.obstacles.append(f"{path}: {saved.short()} became {current.short()}, but {_WHY}")
