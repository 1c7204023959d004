"""Tables whose rows are the steps of a script, and a table that collects changes: the connector of the SQL cases."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from penstock.connectors import CollectSink, ScriptedSource, Step
from penstock.formats.columns.interface import Decoded
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.steps.rows import ToRows
from penstock.table.connectors import registry
from penstock.table.connectors.interface import ChangelogMode, ScanRequest, SinkRequest, TableSink, TableSource
from penstock.types.logical.kinds import DateType, DecimalType, Field, FloatType, LogicalType, MapType, TimestampType

KINDS = ("+I", "-U", "+U", "-D")
ScriptedRow = tuple[str, Sequence[Any]]  # kind and values


class RowDecoder:
    """Turns scripted rows into columns: those of the physical columns that a query reads."""

    def __init__(self, names: Sequence[str], wanted: Sequence[Field]) -> None:
        self._at = [list(names).index(field.name) for field in wanted]
        self._types = [field.type for field in wanted]

    def decode(self, elements: list[ScriptedRow]) -> Decoded:
        columns = [
            from_values([_value(row[at], type_) for _, row in elements], type_)
            for at, type_ in zip(self._at, self._types, strict=True)
        ]
        kinds = np.array([KINDS.index(kind) for kind, _ in elements], np.int8)
        return Decoded(Changes(columns, len(elements), kinds if kinds.any() else None))


class RowEncoder:
    """Turns changes into lists of a kind and values, as they are in the files of cases."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._rows = ToRows([f.type for f in fields], [f.name for f in fields])

    def encode(self, changes: Changes) -> tuple[list[Any], None]:
        return [[[str(row.get_row_kind()), [_text(v) for v in row]], None] for row in self._rows.convert(changes)], None


class ScriptedConnector:
    """Reads scripts by the name of their table."""

    name = "scripted"

    def __init__(self, scripts: dict[str, list[Step]], modes: dict[str, ChangelogMode], retracts: bool) -> None:
        self._scripts = scripts
        self._modes = modes
        self._retracts = retracts

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        name = request.path[-1]
        physical = [c.name for c in request.table.columns if c.kind == "physical"]
        first = name == next(iter(self._scripts))
        source = ScriptedSource(self._scripts[name], ("0",), lockstep=first)
        return TableSource(source, RowDecoder(physical, request.columns), self._modes[name])

    def sink(self, request: SinkRequest) -> TableSink:
        mode: ChangelogMode = "upsert" if request.primary_key and not self._retracts else "retract"
        return TableSink(CollectSink(), RowEncoder(request.columns), mode)


@contextmanager
def scripted_tables(scripts: dict[str, list[Step]], modes: dict[str, ChangelogMode], retracts: bool) -> Iterator[None]:
    """Makes the connector known while a job is built. retracts: the sink takes -U although it has a primary key."""
    connector: Any = ScriptedConnector(scripts, modes, retracts)
    with mock.patch.dict(registry._CONNECTORS, {"scripted": connector}):
        yield


def _value(value: Any, type_: LogicalType) -> Any:
    """A value of a case as the Python value of its type."""
    if value is None:
        return None
    if isinstance(type_, DecimalType):
        return decimal.Decimal(str(value)).quantize(decimal.Decimal(1).scaleb(-type_.scale))
    if isinstance(type_, TimestampType) and isinstance(value, str):
        moment = datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).replace(tzinfo=datetime.UTC)
        return round((moment - datetime.datetime.fromtimestamp(0, datetime.UTC)).total_seconds() * 1000) * 1_000_000
    if isinstance(type_, MapType):
        convert = float if isinstance(type_.key, FloatType) else str
        return [(convert(k), _value(v, type_.value)) for k, v in value.items()]
    if isinstance(type_, DateType) and isinstance(value, str):
        return (datetime.date.fromisoformat(value) - datetime.date(1970, 1, 1)).days
    return value


def _text(value: Any) -> Any:
    """A result as in the files of cases: times as Java prints them, decimals as text."""
    if isinstance(value, datetime.datetime):
        text = value.strftime("%Y-%m-%dT%H:%M")
        if value.second or value.microsecond:
            text += value.strftime(":%S")
        if value.microsecond:
            text += "." + (
                f"{value.microsecond // 1000:03d}" if value.microsecond % 1000 == 0 else f"{value.microsecond:06d}"
            )
        return text + ("Z" if value.tzinfo else "")
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return {str(k): _text(v) for k, v in value.items()}
    return value.isoformat() if isinstance(value, datetime.date) else value
