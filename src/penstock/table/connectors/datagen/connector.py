"""The connector 'datagen'."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.table.connectors.blackhole import not_writable
from penstock.table.connectors.datagen.decoder import FieldPlan, GeneratedColumns
from penstock.table.connectors.datagen.source import RowNumberSource
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.options import (
    COMMON_SOURCE_OPTIONS,
    Option,
    OptionValues,
    nearest,
    owner,
    parse_duration,
)
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    BinaryType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    YearMonthIntervalType,
)

DATAGEN_OPTIONS = (
    Option("rows-per-second", "int", 10_000),
    Option("number-of-rows", "int"),
    Option("fields.*"),
    *COMMON_SOURCE_OPTIONS,
)
_RANDOM = ("kind", "min", "max", "max-past", "length", "var-len", "null-rate")
_SEQUENCE = ("kind", "start", "end")
_STRING_LENGTH = 100
_COLLECTION_LENGTH = 3
_FLOAT_LIMITS = {32: (1.401298464324817e-45, 3.4028234663852886e38), 64: (5e-324, 1.7976931348623157e308)}


class DatagenConnector:
    """Generates rows. A row depends only on its number and on a seed."""

    name = "datagen"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing: generated rows have no metadata."""
        return {}

    def sink(self, request: SinkRequest) -> TableSink:
        """Refuses to write."""
        raise not_writable(self.name, request)

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a source of row numbers, and the decoder that computes the columns."""
        values = OptionValues(owner(request.path), self.name, request.options, DATAGEN_OPTIONS)
        if values["rows-per-second"] <= 0:
            raise values.error(f"Option 'rows-per-second' is {values['rows-per-second']}; expected a number above 0.")
        fields = {c.name: c.type for c in request.table.columns if c.kind == "physical"} or {
            f.name: f.type for f in request.columns
        }
        settings = _by_field(values, fields)
        plans = {name: _Planner(values, settings).plan(name, type_) for name, type_ in fields.items()}
        counts = [
            plan.end - plan.start + 1 for plan in plans.values() if plan.start is not None and plan.end is not None
        ]
        if values["number-of-rows"] is not None:
            counts.append(values["number-of-rows"])
        source = RowNumberSource(values["rows-per-second"], min(counts) if counts else None)
        numbers = [list(plans).index(field.name) for field in request.columns]
        return TableSource(source, GeneratedColumns([plans[field.name] for field in request.columns], numbers))


def _by_field(values: OptionValues, fields: Mapping[str, LogicalType]) -> dict[str, dict[str, str]]:
    """Returns the options of each field. Fields of nested rows are separated by points."""
    known = list(_paths("", fields))
    settings: dict[str, dict[str, str]] = {}
    for name, text in values.family("fields.*").items():
        path, _, setting = name.removeprefix("fields.").rpartition(".")
        if path not in known:
            near = nearest(path, known)
            hint = f" Did you mean 'fields.{near}.{setting}'?" if near else ""
            raise values.error(f"Option '{name}' names an unknown column '{path}'.{hint} Columns: {', '.join(known)}.")
        if setting not in (*_RANDOM, *_SEQUENCE):
            near = nearest(setting, [*_RANDOM, *_SEQUENCE])
            hint = f" Did you mean 'fields.{path}.{near}'?" if near else ""
            raise values.error(
                f"Option '{name}' is unknown.{hint} A column has the options {', '.join(dict.fromkeys((*_RANDOM, *_SEQUENCE)))}."
            )
        settings.setdefault(path, {})[setting] = text
    return settings


def _paths(prefix: str, fields: Mapping[str, LogicalType]) -> Any:
    for name, type_ in fields.items():
        yield prefix + name
        match type_:
            case RowType():
                yield from _paths(f"{prefix}{name}.", {f.name: f.type for f in type_.fields})
            case ArrayType() | MultisetType():
                yield from _paths(f"{prefix}{name}.", {"element": type_.element})
            case MapType():
                yield from _paths(f"{prefix}{name}.", {"key": type_.key, "value": type_.value})


class _Planner:
    """Checks the options of columns."""

    def __init__(self, values: OptionValues, settings: Mapping[str, Mapping[str, str]]) -> None:
        self._values = values
        self._settings = settings

    def plan(self, path: str, type_: LogicalType) -> FieldPlan:
        settings = dict(self._settings.get(path, {}))
        kind = settings.get("kind", "random")
        if kind not in ("random", "sequence"):
            raise self._wrong(path, "kind", kind, "'random' or 'sequence'")
        allowed = _RANDOM if kind == "random" else _SEQUENCE
        for setting in settings:
            if setting not in allowed:
                raise self._values.error(
                    f"Option 'fields.{path}.{setting}' does not apply to a {kind} column, which has {', '.join(allowed)}."
                )
        return self._sequence(path, type_, settings) if kind == "sequence" else self._random(path, type_, settings)

    def _sequence(self, path: str, type_: LogicalType, settings: Mapping[str, str]) -> FieldPlan:
        if not isinstance(type_, (IntegerType, FloatType, DecimalType, CharType)):
            raise self._values.error(f"Column '{path}' has the type {type_}, of which there is no sequence.")
        for setting in ("start", "end"):
            if setting not in settings:
                raise self._values.error(f"Column '{path}' is a sequence, but 'fields.{path}.{setting}' is missing.")
        start, end = (self._number(path, setting, settings[setting], int) for setting in ("start", "end"))
        if start > end:
            raise self._values.error(f"'fields.{path}.start' is {start}, which is larger than the end, {end}.")
        return FieldPlan(type_, start, end)

    def _random(self, path: str, type_: LogicalType, settings: Mapping[str, str]) -> FieldPlan:
        low, high = self._limits(path, type_, settings)
        rate = self._number(path, "null-rate", settings.get("null-rate", "0"), float)
        if not 0 <= rate <= 1:
            raise self._wrong(path, "null-rate", settings["null-rate"], "a number from 0 to 1")
        past = settings.get("max-past")
        if past is not None and not isinstance(type_, (TimestampType, DateType)):
            raise self._values.error(f"'fields.{path}.max-past' applies only to timestamps, but the type is {type_}.")
        try:
            max_past = 0 if past is None else parse_duration(past)
        except ValueError:
            raise self._wrong(path, "max-past", str(past), "a duration such as '10 min'") from None
        return FieldPlan(
            type_,
            low=low,
            high=high,
            max_past=max_past,
            length=self._length(path, type_, settings),
            var_len=settings.get("var-len", "false").lower() == "true",
            null_rate=rate,
            nested=self._nested(path, type_),
        )

    def _length(self, path: str, type_: LogicalType, settings: Mapping[str, str]) -> int:
        given = settings.get("length")
        length = None if given is None else self._number(path, "length", given, int)
        if isinstance(type_, (CharType, BinaryType)):
            longest = type_.length
            fixed = not type_.varying
            if length is not None and (length > longest or (fixed and length != longest)):
                raise self._wrong(path, "length", str(given), f"at most {longest}, the length of {type_}")
            return length if length is not None else longest if fixed or longest <= _STRING_LENGTH else _STRING_LENGTH
        if length is not None and not isinstance(type_, (ArrayType, MapType, MultisetType)):
            raise self._values.error(f"'fields.{path}.length' does not apply to the type {type_}.")
        return _COLLECTION_LENGTH if length is None else length

    def _limits(self, path: str, type_: LogicalType, settings: Mapping[str, str]) -> tuple[Any, Any]:
        parse: Any = int
        match type_:
            case IntegerType():
                low, high = -(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1
            case FloatType():
                low, high, parse = *_FLOAT_LIMITS[type_.bits], float
            case DecimalType():
                high = Decimal(10**type_.precision - 1).scaleb(-type_.scale)
                low, parse = -high, Decimal
            case YearMonthIntervalType():
                low, high = 0, 120_000
            case DayTimeIntervalType():
                low, high = 0, 2**53
            case _:
                for setting in ("min", "max"):
                    if setting in settings:
                        raise self._values.error(f"'fields.{path}.{setting}' does not apply to the type {type_}.")
                return None, None
        if "min" in settings:
            low = self._number(path, "min", settings["min"], parse)
        if "max" in settings:
            high = self._number(path, "max", settings["max"], parse)
        if low > high:
            raise self._values.error(f"'fields.{path}.min' is {low}, which is larger than the maximum, {high}.")
        return low, high

    def _nested(self, path: str, type_: LogicalType) -> tuple[FieldPlan, ...]:
        match type_:
            case RowType():
                return tuple(self.plan(f"{path}.{field.name}", field.type) for field in type_.fields)
            case ArrayType():
                return (self.plan(f"{path}.element", type_.element),)
            case MultisetType():
                return self.plan(f"{path}.element", type_.element), FieldPlan(INT, low=1, high=10)
            case MapType():
                return self.plan(f"{path}.key", type_.key.with_nullable(False)), self.plan(f"{path}.value", type_.value)
        return ()

    def _number(self, path: str, setting: str, text: str, parse: Any) -> Any:
        try:
            return parse(text.strip())
        except (ValueError, InvalidOperation):
            expected = "a whole number" if parse is int else "a number"
            raise self._wrong(path, setting, text, expected) from None

    def _wrong(self, path: str, setting: str, text: str, expected: str) -> Exception:
        return self._values.error(f"Option 'fields.{path}.{setting}' has the value '{text}'; expected {expected}.")
