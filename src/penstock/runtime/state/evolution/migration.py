"""Values that a user's migrate function makes, and defaults: Python values as plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PenstockError, StateError
from penstock.runtime.codec import codec_of
from penstock.runtime.evolution.natural import natural
from penstock.runtime.evolution.shape import Part, Shape
from penstock.runtime.failure import place_of, shortened

_encode = msgspec.msgpack.Encoder(decimal_format="string").encode
_untyped = msgspec.msgpack.Decoder().decode


def migrating(saved: Shape, wanted: Shape) -> Callable[[Any], Any]:
    """Plain values of the old type to those of the new one, through the user's function."""
    assert wanted.live is not None
    read, call = natural(saved), migration(saved, wanted)
    encode = codec_of(wanted.live.type_info).encode
    return lambda value: _untyped(encode(call(read(value)))[1:])


def migration(saved: Shape, wanted: Shape) -> Callable[[Any], Any]:
    """The user's migrate function for values of the saved version; what it raises is told with the value."""
    assert wanted.live is not None
    migrate, version = wanted.live.evolution.migrate, saved.version
    assert migrate is not None

    def call(old: Any) -> Any:
        try:
            return migrate(version, old)
        except PenstockError:
            raise
        except Exception as error:
            place = place_of(migrate)
            raise StateError(
                "STATE_MIGRATE_FAILED",
                f"migrate of {wanted.short()}{f' ({place})' if place else ''} raised {type(error).__name__}: {error} for "
                f"version {version}, value {shortened(old)}. Nothing was restored; mend the function and start again.",
            ) from error

    return call


def plain_default(record: Shape, part: Part) -> Callable[[], Any] | None:
    """Makes the plain form of a field's default; None where it has none."""
    if record.live is None:
        return None
    own = {stored: name for name, stored in record.live.stored_names.items()}
    make = record.live.defaults.get(own.get(part.name, part.name))
    if make is None:
        return None
    if record.form == "row" and part.type.live is not None:
        encode = codec_of(part.type.live.type_info).encode
        return lambda: None if (value := make()) is None else _untyped(encode(value)[1:])
    return lambda: _untyped(_encode(make()))
