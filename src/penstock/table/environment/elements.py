"""Python values as the rows of a table: `TableEnvironment.from_elements`."""

from __future__ import annotations

import datetime
import decimal
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.errors import ElementError, ElementTypeError, PlanError
from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.functions.zones import zone_of
from penstock.table.data_types import DataType
from penstock.table.element_inference import infer_row_type, is_row
from penstock.table.relations import Values
from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType
from penstock.types.logical.text import summary

_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_ZERO = _EPOCH.toordinal()
_DIGITS = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
_CLASSES: dict[type[LogicalType], tuple[type, ...]] = {
    kinds.BooleanType: (bool,),
    kinds.IntegerType: (int,),
    kinds.FloatType: (float, int),
    kinds.DecimalType: (decimal.Decimal, int),
    kinds.CharType: (str,),
    kinds.BinaryType: (bytes, bytearray),
    kinds.DateType: (datetime.date,),
    kinds.TimeType: (datetime.time,),
    kinds.TimestampType: (datetime.datetime,),
    kinds.DayTimeIntervalType: (datetime.timedelta,),
    kinds.ArrayType: (list, tuple, array),
    kinds.MapType: (dict,),
}


def values_of(elements: Iterable[Any], schema: Any = None, zone: str = "UTC") -> Values:
    """Returns the relation of rows. The schema is a ROW type, the type of the only column, names of columns, or None.

    >>> relation = values_of([(1, "a"), (2, None)], ["id", "name"])
    >>> [str(DataType(field.type)) for field in relation.row_type.fields]
    ['BIGINT', 'STRING']
    """
    rows = list(elements)
    if isinstance(schema, DataType):
        if isinstance(schema.logical, kinds.RowType):
            row_type = schema.logical
        else:
            row_type = kinds.RowType((kinds.Field("value", schema.logical),))
            rows = [(row,) for row in rows]
    elif schema is None or (isinstance(schema, list | tuple) and all(isinstance(name, str) for name in schema)):
        row_type = infer_row_type(rows, schema)
    else:
        raise PlanError(
            "TABLE_SCHEMA", f"A schema is DataTypes.ROW([...]), a list of column names, or left out, not {schema!r}."
        )
    row_type = kinds.RowType(row_type.fields, nullable=False)
    writer = _Writer(zone)
    written = [writer.element(row, row_type, number) for number, row in enumerate(rows)]
    types = [field.type for field in row_type.fields]
    return Values(
        row_type=row_type,
        rows=tuple(tuple(Literal(v, t) for v, t in zip(row, types, strict=True)) for row in written),
    )


class _Misfit(Exception):  # noqa: N818 - it never leaves this module
    """A value does not fit its type. `path` is where it is in the element."""

    def __init__(self, text: str, error: type[ElementError] = ElementError) -> None:
        super().__init__(text)
        self.text = text
        self.error = error
        self.path: list[str] = []


class _Writer:
    """Turns Python values into those that literals have, and checks that they fit their types."""

    def __init__(self, zone: str) -> None:
        self._zone = zone_of(zone) or datetime.UTC

    def element(self, value: Any, type_: kinds.RowType, number: int) -> tuple[Any, ...]:
        """Writes a row. The error says where in the row a value does not fit."""
        try:
            if value is None:
                raise _Misfit("None is no row")
            return self._row(value, type_)
        except _Misfit as misfit:
            field = f" Field {'.'.join(misfit.path)}:" if misfit.path else ""
            raise misfit.error(
                "ELEMENT_TYPE", f"Element {number} does not fit the schema.{field} {misfit.text}."
            ) from None

    def write(self, value: Any, type_: LogicalType) -> Any:
        if value is None:
            if not type_.nullable:
                raise _Misfit(f"None does not fit {summary(type_)}")
            return None
        if isinstance(type_, kinds.RowType):
            return self._row(value, type_)
        known = _CLASSES.get(type(type_), (object,))
        wrong_bool = isinstance(value, bool) and not isinstance(type_, kinds.BooleanType)
        if not isinstance(value, known) or wrong_bool:
            raise _wrong_class(value, type_)
        return self._scalar(value, type_)

    def _scalar(self, value: Any, type_: LogicalType) -> Any:
        match type_:
            case kinds.CharType():
                return value
            case kinds.IntegerType():
                if not -(1 << type_.bits - 1) <= value < 1 << type_.bits - 1:
                    raise _Misfit(f"{value} does not fit {summary(type_)}")
            case kinds.FloatType():
                return float(value)
            case kinds.DecimalType():
                return _decimal(value, type_)
            case kinds.BinaryType():
                return bytes(value)
            case kinds.DateType():
                return value.toordinal() - _DAY_ZERO
            case kinds.TimeType():
                return (value.hour * 3600 + value.minute * 60 + value.second) * 1000 + value.microsecond // 1000
            case kinds.TimestampType():
                return self._timestamp(value, type_)
            case kinds.DayTimeIntervalType():
                return value // datetime.timedelta(milliseconds=1)
            case kinds.ArrayType():
                return [self.write(v, type_.element) for v in value]
            case kinds.MapType():
                return [(self.write(k, type_.key), self.write(v, type_.value)) for k, v in value.items()]
        return value

    def _row(self, value: Any, type_: kinds.RowType) -> tuple[Any, ...]:
        parts = _parts(value, type_)
        if len(parts) != len(type_.fields):
            names = ", ".join(field.name for field in type_.fields)
            raise _Misfit(f"{len(parts)} values do not fit {len(type_.fields)} fields: {names}")
        written = []
        for part, field in zip(parts, type_.fields, strict=True):
            try:
                written.append(self.write(part, field.type))
            except _Misfit as misfit:
                misfit.path.insert(0, field.name)
                raise
        return tuple(written)

    def _timestamp(self, value: datetime.datetime, type_: kinds.TimestampType) -> int:
        if type_.local and value.tzinfo is None:
            value = value.replace(tzinfo=self._zone)
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC if type_.local else self._zone).replace(tzinfo=None)
        return (value - _EPOCH) // datetime.timedelta(microseconds=1) * 1000


def _parts(value: Any, type_: kinds.RowType) -> Sequence[Any]:
    """The values of a row in the order of the fields. Those of a dict, an object or a named Row are found by name."""
    if isinstance(value, tuple | list):
        return value
    names = [field.name for field in type_.fields]
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if is_row(value):
        own = getattr(value, "_fields", None)
        return [value[name] for name in names] if own and sorted(own) == sorted(names) else tuple(value)
    if hasattr(value, "__dict__"):
        return [value.__dict__.get(name) for name in names]
    raise _wrong_class(value, type_)


def _decimal(value: Any, type_: kinds.DecimalType) -> decimal.Decimal:
    found = decimal.Decimal(value)
    if found.is_finite():
        found = found.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=_DIGITS)
    if not found.is_finite() or len(found.as_tuple().digits) > type_.precision:
        raise _Misfit(f"{value} does not fit {summary(type_)}")
    return found


def _wrong_class(value: Any, type_: LogicalType) -> _Misfit:
    return _Misfit(f"{value!r} ({type(value).__name__}) does not fit {summary(type_)}", ElementTypeError)
