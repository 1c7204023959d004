"""Converts keys of one type to another: the differences, and the function that converts an encoded key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.state.codec import TypedCodec, codec_of
from penstock.runtime.state.evolution.compatibility import compare, needs_migration
from penstock.runtime.state.evolution.describe import describe, describe_key
from penstock.runtime.state.evolution.keys import compare_keys
from penstock.runtime.state.evolution.migration import migrate_call
from penstock.runtime.state.evolution.plain_keys import key_reader
from penstock.runtime.state.evolution.python_values import python_value_reader
from penstock.runtime.state.evolution.reader_builder import identity
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.key_parts import key_parts
from penstock.types import TypeInformation

KeyConverter = Callable[[bytes], Any]  # from an encoded old key to the new key

UNDECLARED = Shape("pickle")


@dataclass(slots=True)
class KeyComparison:
    """The result of comparing two types of keys."""

    differences: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why keys cannot be converted
    convert: KeyConverter | None = None  # None: the encoded keys stay the same


def compare_key_types(saved: Shape, type_info: TypeInformation) -> KeyComparison:
    """Compares the type of saved keys with the current type of the program.

    >>> from penstock.runtime.state.keys import encode_key
    >>> from penstock.types import Types
    >>> row = Types.ROW_NAMED(["shop", "region"], [Types.INT(), Types.STRING()])
    >>> comparison = compare_key_types(Shape("tuple", of=[Shape("int", bits=32), Shape("str")]), row)
    >>> comparison.differences[0], comparison.convert(encode_key((7, "north"))[0])
    ('a tuple became Row; fields are matched by position', Row(shop=7, region='north'))
    """
    unchanged = compare_keys(saved, describe_key(type_info))
    if not unchanged.obstacles and not unchanged.checked:
        return KeyComparison(unchanged.differences)
    current = describe(type_info)
    if needs_migration(saved, current):
        return _compare_versions(saved, current, type_info)
    comparison = compare(saved, current)
    codec = codec_of(type_info)
    if comparison.obstacles or not isinstance(codec, TypedCodec):
        return KeyComparison(comparison.differences, comparison.obstacles or unchanged.obstacles)
    read, convert, from_plain = key_reader(saved), comparison.convert or identity, codec.from_plain
    differences = comparison.differences or unchanged.differences
    return KeyComparison(differences, convert=lambda encoded: from_plain(convert(read(encoded))))


def _compare_versions(saved: Shape, current: Shape, type_info: TypeInformation) -> KeyComparison:
    """Converts the complete key by the migrate function."""
    if saved.version > current.version:
        message = f"was written by version {saved.version} of {current.short()}, which is newer than the version of the program"
        return KeyComparison(obstacles=[message])
    message = f"version {saved.version} is converted to {current.version} by its migrate function"
    migrate, convert = migrate_call(saved, current), type_info.convert
    if saved.kind == UNDECLARED.kind:
        return KeyComparison([message], convert=lambda encoded: convert(migrate(key_parts(encoded))))
    read, to_python = key_reader(saved), python_value_reader(saved)
    return KeyComparison([message], convert=lambda encoded: convert(migrate(to_python(read(encoded)))))
