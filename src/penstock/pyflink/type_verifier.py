"""Checks whether Python values have a type, as the private verifier of `pyflink.table.types` does."""

from __future__ import annotations

import array
import datetime
import decimal
from collections.abc import Callable
from typing import Any

from penstock.row import Row
from penstock.table.catalog_objects.user_defined_type import UserDefinedType
from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType
from penstock.types.logical.text import summary

_CLASSES: dict[type, tuple[type, ...]] = {
    kinds.BooleanType: (bool,),
    kinds.IntegerType: (int,),
    kinds.FloatType: (float,),
    kinds.DecimalType: (decimal.Decimal,),
    kinds.CharType: (str,),
    kinds.BinaryType: (bytearray,),
    kinds.DateType: (datetime.date, datetime.datetime),
    kinds.TimeType: (datetime.time,),
    kinds.TimestampType: (datetime.datetime,),
    kinds.DayTimeIntervalType: (datetime.timedelta,),
    kinds.ArrayType: (list, tuple, array.array),
    kinds.MapType: (dict,),
}


def _create_type_verifier(data_type: Any, name: str | None = None) -> Callable[[Any], None]:
    """Returns a function that raises TypeError for a value of another class, and ValueError for one that does not fit."""
    place = name or "The value"
    if isinstance(data_type, UserDefinedType):
        return lambda value: _verify_user_defined(value, data_type, place)
    return lambda value: _verify(value, data_type.logical, place)


def _verify_user_defined(value: Any, type_: UserDefinedType, place: str) -> None:
    if getattr(value, "__UDT__", None) != type_:
        raise ValueError(f"{place}: {value!r} does not have the type {type_!r}.")
    _verify(type_.to_sql_type(value), type_.sql_type().logical, place)


def _verify(value: Any, type_: LogicalType, place: str) -> None:
    if value is None:
        if not type_.nullable:
            raise ValueError(f"{place} is None, but its type {summary(type_)} has no NULL.")
        return
    if isinstance(type_, kinds.RowType):
        _verify_row(value, type_, place)
        return
    if type(value) not in _CLASSES.get(type(type_), ()):
        raise TypeError(f"{place} is {value!r} ({type(value).__name__}), which is no value of {summary(type_)}.")
    match type_:
        case kinds.IntegerType() if type_.bits < 64 and not -(2 ** (type_.bits - 1)) <= value < 2 ** (type_.bits - 1):
            raise ValueError(f"{place} is {value}, which is out of the range of {summary(type_)}.")
        case kinds.CharType() | kinds.BinaryType():
            if len(value) > type_.length or (not type_.varying and len(value) != type_.length):
                raise ValueError(f"{place} has the length {len(value)}, which is not that of {summary(type_)}.")
        case kinds.ArrayType():
            for element in value:
                _verify(element, type_.element, f"An element of the array in {place}")
        case kinds.MapType():
            for key, item in value.items():
                _verify(key, type_.key, f"A key of the map in {place}")
                _verify(item, type_.value, f"A value of the map in {place}")


def _verify_row(value: Any, type_: kinds.RowType, place: str) -> None:
    values: list[Any]
    names = [f.name for f in type_.fields]
    if isinstance(value, dict):
        values = [value.get(name) for name in names]
    elif isinstance(value, Row) and value._fields is not None:
        values = [value[name] for name in names]
    elif isinstance(value, Row | tuple | list):
        values = list(value)
        if len(values) != len(names):
            raise ValueError(f"{place} has {len(values)} values, but {summary(type_)} has {len(names)} fields.")
    elif hasattr(value, "__dict__"):
        values = [vars(value).get(name) for name in names]
    else:
        raise TypeError(f"{place} is {value!r} ({type(value).__name__}), which is no value of {summary(type_)}.")
    for field, part in zip(type_.fields, values, strict=True):
        _verify(part, field.type, f"Field '{field.name}'")


__all__ = ["_create_type_verifier"]
