"""Stored values as a column: of the type that was declared for them, or as Arrow finds them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.errors import StateError
from penstock.runtime.evolution.describe import describe
from penstock.runtime.evolution.shape import Shape, state_shape_of
from penstock.savepoints import SavedState
from penstock.state_processor.natural import ARROW_ERRORS, NotNatural, natural
from penstock.state_processor.shaped import column_of
from penstock.types import TypeInformation

_STAMPED = "ttl:"
_decode = msgspec.msgpack.decode


def is_stamped(schema: str) -> bool:
    """Whether values of a schema begin with the time of their last change: they have a time to live."""
    return schema.startswith(_STAMPED)


def shape_of(saved: SavedState, value_type: TypeInformation | None) -> Shape | None:
    """The shape of a state's values: as it was saved, or as the caller says; None: nobody knows."""
    if value_type is not None:
        return describe(value_type)
    return None if saved.type is None else state_shape_of(saved.type).value


class Values:
    """Makes columns of the values of one state."""

    def __init__(self, saved: SavedState, value_type: TypeInformation | None = None) -> None:
        self._state = saved.name
        shape = shape_of(saved, value_type)
        self._column = None if shape is None else column_of(shape)
        self._convert = None if self._column is None else self._column.always()

    def python(self, data: bytes) -> Any:
        """One value, as what Arrow takes."""
        if data[0] == 0:
            return natural(self._unpickled(data))
        plain = _decode(data[1:])
        return _without_shape(plain) if self._convert is None else self._convert(plain)

    def _unpickled(self, data: bytes) -> Any:
        try:
            return pickle.loads(memoryview(data)[1:])
        except Exception as error:  # a class that cannot be imported here may raise anything
            raise NotNatural(f"{type(error).__name__}: {error}") from error

    def column(self, stored: Sequence[bytes]) -> pa.Array:
        """A column of values. Pickles that Arrow has no column for stay pickles."""
        arrow = None if self._column is None else self._column.arrow
        try:
            return pa.array([self.python(data) for data in stored], arrow)
        except (NotNatural, *ARROW_ERRORS) as error:
            if self._column is None:
                return pa.array(stored, pa.binary())
            raise self._misfit(error) from error
        except (TypeError, ValueError, ArithmeticError, msgspec.MsgspecError) as error:
            raise self._misfit(error) from error

    def _misfit(self, error: Exception) -> StateError:
        arrow = None if self._column is None else self._column.arrow
        return StateError(
            "STATE_VALUE_UNREADABLE",
            f"Values of state '{self._state}' cannot be read as a column of {arrow}: {type(error).__name__}: {error}. "
            "Give value_type= what they are.",
        )


def _without_shape(plain: Any) -> Any:
    """What msgpack held, where no type is known: maps by name are structs; lists of several kinds have numbered fields."""
    if isinstance(plain, dict):
        if all(isinstance(k, str) for k in plain):
            return {k: _without_shape(v) for k, v in plain.items()}
        return [{"key": _without_shape(k), "value": _without_shape(v)} for k, v in plain.items()]
    if isinstance(plain, list):
        values = [_without_shape(v) for v in plain]
        kinds = {type(v) for v in values if v is not None}
        return values if len(kinds) < 2 else {f"f{i}": v for i, v in enumerate(values)}
    return plain
