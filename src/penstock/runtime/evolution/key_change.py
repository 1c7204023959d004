"""Keys of one type as keys of another: what differs, and what makes the new key of an old one's bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.codec import TypedCodec, codec_of
from penstock.runtime.evolution.describe import describe, describe_key
from penstock.runtime.evolution.key_plain import key_reader
from penstock.runtime.evolution.keys import compare_keys
from penstock.runtime.evolution.migrating import migration
from penstock.runtime.evolution.natural import natural
from penstock.runtime.evolution.resolve import compare, has_other_version
from penstock.runtime.evolution.shape import Shape
from penstock.runtime.key_parts import key_parts
from penstock.types import TypeInformation

MakeKey = Callable[[bytes], Any]  # of an old key's bytes

UNDECLARED = Shape("pickle")


@dataclass(slots=True)
class KeyComparison:
    """What two types of keys have to do with each other."""

    differences: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)  # why keys cannot be taken over
    make: MakeKey | None = None  # None: keys keep their bytes


def compare_key_types(saved: Shape, type_info: TypeInformation) -> KeyComparison:
    """Compares the type of saved keys with the one that a program has now.

    >>> from penstock.runtime.keys import encode_key
    >>> from penstock.types import Types
    >>> row = Types.ROW_NAMED(["shop", "region"], [Types.INT(), Types.STRING()])
    >>> found = compare_key_types(Shape("tuple", of=[Shape("int", bits=32), Shape("str")]), row)
    >>> found.differences[0], found.make(encode_key((7, "north"))[0])
    ('a tuple became Row; fields are taken by their place', Row(shop=7, region='north'))
    """
    as_they_are = compare_keys(saved, describe_key(type_info))
    if not as_they_are.obstacles:
        return KeyComparison(as_they_are.differences)
    wanted = describe(type_info)
    if has_other_version(saved, wanted):
        return _by_function(saved, wanted, type_info)
    found = compare(saved, wanted)
    codec = codec_of(type_info)
    if found.obstacles or not isinstance(codec, TypedCodec):
        return KeyComparison(found.differences, found.obstacles or as_they_are.obstacles)
    read, change, made = key_reader(saved), found.change or _same, codec.made
    return KeyComparison(found.differences or as_they_are.differences, make=lambda encoded: made(change(read(encoded))))


def _by_function(saved: Shape, wanted: Shape, type_info: TypeInformation) -> KeyComparison:
    """The whole key is what a user's migrate function makes of the old one."""
    if saved.version > wanted.version:
        told = f"was written by version {saved.version} of {wanted.short()}, which is newer than the program's"
        return KeyComparison(obstacles=[told])
    told = f"version {saved.version} becomes {wanted.version} by its migrate function"
    call, convert = migration(saved, wanted), type_info.convert
    if saved.kind == UNDECLARED.kind:
        return KeyComparison([told], make=lambda encoded: convert(call(key_parts(encoded))))
    read, of_plain = key_reader(saved), natural(saved)
    return KeyComparison([told], make=lambda encoded: convert(call(of_plain(read(encoded)))))


def _same(value: Any) -> Any:
    return value
