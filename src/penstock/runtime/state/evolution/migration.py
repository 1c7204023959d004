"""Calls migrate functions and default factories, and converts their results to plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PenstockError, StateError
from penstock.runtime.failure import definition_location, short_repr
from penstock.runtime.state.codec import codec_of
from penstock.runtime.state.evolution.python_values import python_value_reader
from penstock.runtime.state.evolution.shape import Shape, ShapeField

_encode = msgspec.msgpack.Encoder(decimal_format="string").encode
_untyped = msgspec.msgpack.Decoder().decode


def plain_migration(saved: Shape, current: Shape) -> Callable[[Any], Any]:
    """Returns a function that converts saved plain values to current ones with the migrate function."""
    assert current.binding is not None
    read, migrate = python_value_reader(saved), migrate_call(saved, current)
    encode = codec_of(current.binding.type_info).encode
    return lambda value: _untyped(encode(migrate(read(value)))[1:])


def migrate_call(saved: Shape, current: Shape) -> Callable[[Any], Any]:
    """Returns the migrate function for values of the saved version. Its errors are reported with the value."""
    assert current.binding is not None
    migrate, version = current.binding.evolution.migrate, saved.version
    assert migrate is not None

    def call(old: Any) -> Any:
        try:
            return migrate(version, old)
        except PenstockError:
            raise
        except Exception as error:
            location = definition_location(migrate)
            raise StateError(
                "STATE_MIGRATE_FAILED",
                f"The migrate function of {current.short()}{f' ({location})' if location else ''} raised "
                f"{type(error).__name__}: {error} for value {short_repr(old)} of version {version}. Nothing was restored. "
                "Fix the function and start again.",
            ) from error

    return call


def plain_default(record: Shape, part: ShapeField) -> Callable[[], Any] | None:
    """Returns a function that creates the default of a field as a plain value; None if it has none."""
    if record.binding is None:
        return None
    names = {stored: name for name, stored in record.binding.stored_names.items()}
    default = record.binding.defaults.get(names.get(part.name, part.name))
    if default is None:
        return None
    if record.form == "row" and part.type.binding is not None:
        encode = codec_of(part.type.binding.type_info).encode
        return lambda: None if (value := default()) is None else _untyped(encode(value)[1:])
    return lambda: _untyped(_encode(default()))
