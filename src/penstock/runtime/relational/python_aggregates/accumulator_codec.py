"""Accumulators of Python functions as bytes. What is read equals what was written, also in the classes of its parts.

Plain values and lists are msgpack. Tuples, rows, maps and views have extension codes; everything else is pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import msgspec

from penstock.errors import StateError
from penstock.row import Row, make_row
from penstock.runtime.pickling import dumps
from penstock.runtime.relational.python_aggregates.views import ListView, MapView, StateListView, StateMapView

_PLAIN = frozenset({type(None), bool, int, float, str, bytes})
_TUPLE, _ROW, _MAP, _PICKLE, _LIST_VIEW, _MAP_VIEW, _STATE_LIST, _STATE_MAP = range(16, 24)
_to_bytes = msgspec.msgpack.Encoder().encode
_Ext = msgspec.msgpack.Ext


class StoredView:
    """Stands for a view whose entries are in state, until it is bound to them. length: see StateListView; None for a map."""

    __slots__ = ("length",)

    def __init__(self, length: int | None) -> None:
        self.length = length


def encode(accumulator: Any) -> bytes:
    """Returns the bytes of an accumulator.

    >>> decode(encode(Row(a=1, b=(2, "c"), d={3: [4.5]})))
    Row(a=1, b=(2, 'c'), d={3: [4.5]})
    """
    try:
        return _to_bytes(_tagged(accumulator))
    except (OverflowError, UnicodeEncodeError):  # integers of more than 64 bits, text that is not valid Unicode
        return _to_bytes(_tagged(accumulator, careful=True))


def decode(data: bytes) -> Any:
    """Returns the accumulator that was encoded."""
    return _decode(data)


def encode_key(key: Any) -> bytes:
    """Returns the bytes of a key of a map: the same for keys that are equal in Python, such as 1, 1.0 and True.

    >>> encode_key((1, True)) == encode_key((1.0, 1)), encode_key(1) == encode_key("1")
    (True, False)
    """
    return encode(_canonical(key))


def _canonical(key: Any) -> Any:
    if isinstance(key, bool) or (isinstance(key, float) and key.is_integer()):
        return int(key)
    if isinstance(key, Row):
        return ["row", *map(_canonical, key.values_by_name())]
    return tuple(map(_canonical, key)) if isinstance(key, tuple) else key


def _tagged(value: Any, careful: bool = False) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return _pickled(value) if careful and kind in (int, str) and not _fits(value) else value
    if kind is list:
        if not careful and _PLAIN.issuperset(map(type, value)):
            return value
        return [_tagged(v, careful) for v in value]
    if kind is tuple:
        return _Ext(_TUPLE, _to_bytes([_tagged(v, careful) for v in value]))
    if kind is Row:
        return _Ext(_ROW, _to_bytes([value._fields, [_tagged(v, careful) for v in value._values]]))
    if kind is dict:
        return _Ext(_MAP, _pairs(value.items(), careful))
    if kind is StateListView:
        return _Ext(_STATE_LIST, _to_bytes(value.length))
    if kind is StateMapView:
        return _Ext(_STATE_MAP, b"")
    if kind is ListView:
        return _Ext(_LIST_VIEW, _to_bytes([_tagged(v, careful) for v in value]))
    if kind is MapView:
        return _Ext(_MAP_VIEW, _pairs(value.items(), careful))
    return _pickled(value)


def _pairs(items: Any, careful: bool) -> bytes:
    return _to_bytes([[_tagged(k, careful), _tagged(v, careful)] for k, v in items])


def _fits(value: int | str) -> bool:
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return value.isascii() or not any(0xD800 <= ord(c) <= 0xDFFF for c in value)


def _pickled(value: Any) -> msgspec.msgpack.Ext:
    try:
        return _Ext(_PICKLE, dumps(value))
    except Exception:
        pass
    try:
        return _Ext(_PICKLE, cloudpickle.dumps(value, 5))  # a class that the function brought with it
    except Exception as error:
        raise StateError(
            "STATE_NOT_PICKLABLE",
            f"An accumulator of a Python function has a {type(value).__name__}, which cannot be pickled: {error}. Keep plain "
            "values in accumulators, and open connections, files and locks in open().",
        ) from error


def _extension(code: int, data: memoryview) -> Any:
    return _READERS[code](data)


def _row(data: memoryview) -> Row:
    return make_row(*_decode(data))


def _map(data: memoryview) -> dict[Any, Any]:
    return dict(_decode(data))


def _list_view(data: memoryview) -> ListView[Any]:
    view: ListView[Any] = ListView()
    view.add_all(_decode(data))
    return view


def _map_view(data: memoryview) -> MapView[Any, Any]:
    view: MapView[Any, Any] = MapView()
    view.put_all(_map(data))
    return view


_decode = msgspec.msgpack.Decoder(ext_hook=_extension).decode
_READERS: dict[int, Callable[[memoryview], Any]] = {
    _TUPLE: lambda data: tuple(_decode(data)),
    _ROW: _row,
    _MAP: _map,
    _PICKLE: pickle.loads,
    _LIST_VIEW: _list_view,
    _MAP_VIEW: _map_view,
    _STATE_LIST: lambda data: StoredView(_decode(data)),
    _STATE_MAP: lambda data: StoredView(None),
}
