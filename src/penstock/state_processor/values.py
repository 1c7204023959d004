"""Converts stored values to a column of their declared type, or of a type that Arrow infers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.errors import StateError
from penstock.runtime.state.evolution.describe import describe
from penstock.runtime.state.evolution.python_values import value_reader
from penstock.runtime.state.evolution.shape import Shape, read_state_shape
from penstock.savepoints import SavedState
from penstock.state_processor.arrow_values import ARROW_ERRORS, NoArrowColumn, to_arrow_value
from penstock.state_processor.shape_columns import shape_column
from penstock.types import TypeInformation
from penstock.types.arrow import nullable

_TTL_PREFIX = "ttl:"
_decode = msgspec.msgpack.decode


def has_ttl(schema: str) -> bool:
    """Whether values have a time to live. They then start with the time of their last change."""
    return schema.startswith(_TTL_PREFIX)


def value_shape(saved: SavedState, value_type: TypeInformation | None) -> Shape | None:
    """The shape of the values of a state, from `value_type` or the savepoint; None if it is unknown."""
    if value_type is not None:
        return describe(value_type)
    return None if saved.type is None else read_state_shape(saved.type).value


class ValueColumns:
    """Converts the values of one state to columns."""

    def __init__(self, saved: SavedState, value_type: TypeInformation | None = None) -> None:
        self._state = saved.name
        shape = value_shape(saved, value_type)
        self.read: Callable[[bytes], Any] = value_reader(Shape("any") if shape is None else shape)  # as a Python value
        self._column = None if shape is None else shape_column(shape)
        self._convert = None if self._column is None else nullable(self._column.encode)

    def convert(self, data: bytes) -> Any:
        """Converts one value for Arrow."""
        if data[0] == 0:
            return to_arrow_value(self._unpickle(data))
        plain = _decode(data[1:])
        return _convert_untyped(plain) if self._convert is None else self._convert(plain)

    def _unpickle(self, data: bytes) -> Any:
        try:
            return pickle.loads(memoryview(data)[1:])
        except Exception as error:  # a class that cannot be imported may raise any error
            raise NoArrowColumn(f"{type(error).__name__}: {error}") from error

    def column(self, stored: Sequence[bytes]) -> pa.Array:
        """A column of values. Pickled values that Arrow has no type for stay pickles, which `pickle.loads` reads."""
        arrow = None if self._column is None else self._column.arrow
        try:
            return pa.array([self.convert(data) for data in stored], arrow)
        except (NoArrowColumn, *ARROW_ERRORS) as error:
            if self._column is None:
                return pa.array(map(_to_pickle, stored), pa.binary())
            raise self._unreadable(error) from error
        except (TypeError, ValueError, ArithmeticError, msgspec.MsgspecError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> StateError:
        arrow = None if self._column is None else self._column.arrow
        return StateError(
            "STATE_VALUE_UNREADABLE",
            f"Values of state '{self._state}' cannot be read as a column of {arrow}: {type(error).__name__}: {error}. "
            "Set value_type= to their type.",
        )


def _to_pickle(data: bytes) -> bytes:
    """The pickle of a stored value, which starts with a byte for its format."""
    return pickle.dumps(_decode(data[1:]), 5) if data[0] else data[1:]


def _convert_untyped(plain: Any) -> Any:
    """Converts msgpack values of unknown type. Maps with text keys become structs, and lists of mixed types get numbered fields."""
    if isinstance(plain, dict):
        if all(isinstance(k, str) for k in plain):
            return {k: _convert_untyped(v) for k, v in plain.items()}
        return [{"key": _convert_untyped(k), "value": _convert_untyped(v)} for k, v in plain.items()]
    if isinstance(plain, list):
        values = [_convert_untyped(v) for v in plain]
        kinds = {type(v) for v in values if v is not None}
        return values if len(kinds) < 2 else {f"f{i}": v for i, v in enumerate(values)}
    return plain
