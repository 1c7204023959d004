"""Records of change capture that contain only the old values of changed columns: Canal and Maxwell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.errors import ElementError
from penstock.formats.columns.change_records import MetadataField
from penstock.formats.columns.interface import Decoded
from penstock.formats.columns.json_decoder import JsonDecoder, JsonSettings
from penstock.formats.columns.json_exact import load_json
from penstock.formats.columns.record_error import shown
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes
from penstock.types.logical.kinds import STRING, ArrayType, Field, RowType


@dataclass(frozen=True, slots=True)
class OldValuesFormat:
    """The names of a format. `many`: a record has a list of rows. `ignored`: operations without rows."""

    title: str
    insert: str
    update: str
    delete: str
    many: bool
    ignored: tuple[str, ...] = ()


CANAL = OldValuesFormat("Canal", "INSERT", "UPDATE", "DELETE", True, ("CREATE",))
MAXWELL = OldValuesFormat("Maxwell", "insert", "update", "delete", False)


class OldValuesDecoder:
    """Decodes records with the fields data, old and type. A column that is not in `old` has not changed.

    >>> decoder = OldValuesDecoder([Field("a", STRING), Field("b", STRING)], MAXWELL)
    >>> decoded = decoder.decode([b'{"data": {"a": "1", "b": "y"}, "old": {"b": "x"}, "type": "update"}'])
    >>> [c.to_pylist() for c in decoded.changes.columns], decoded.changes.kinds.tolist()
    ([['1', '1'], ['x', 'y']], [1, 2])
    """

    def __init__(
        self,
        fields: Sequence[Field],
        form: OldValuesFormat,
        settings: JsonSettings | None = None,
        metadata: Sequence[MetadataField] = (),
        database: str | None = None,
        table: str | None = None,
    ) -> None:
        self.fields, self.form = tuple(fields), form
        self.settings = settings or JsonSettings()
        self.metadata = tuple(metadata)
        self.database, self.table = database, table  # regular expressions
        row = RowType(self.fields)
        body = ArrayType(row) if form.many else row
        envelope = [Field("data", body), Field("old", body), Field("type", STRING)]
        extra = [(one.field, one.type) for one in self.metadata]
        extra += [(name, STRING) for name, pattern in (("database", database), ("table", table)) if pattern is not None]
        for name, type_ in extra:
            if all(field.name != name for field in envelope):
                envelope.append(Field(name, type_))
        self.json = JsonDecoder(envelope, self.settings)

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes records. A record without a value has no rows."""
        decoded = self.json.decode([element or None for element in elements])
        origins = np.arange(decoded.changes.length) if decoded.origins is None else decoded.origins
        columns = {f.name: c for f, c in zip(self.json.fields, decoded.changes.columns, strict=True)}
        data, old, types = columns["data"], columns["old"], columns["type"].to_pylist()
        taken = self._taken(columns, len(types))
        data_at, old_at = _Ranges(data, self.form.many), _Ranges(old, self.form.many)
        plan = _Plan()
        bad = list(decoded.bad)
        for record, operation in enumerate(types):
            if not taken[record] or operation in self.form.ignored:
                continue
            try:
                self._add(plan, record, operation, data_at, old_at, elements[origins[record]])
            except ElementError as error:
                bad.append((int(origins[record]), error))
        new_rows, old_rows = data_at.values.flatten(), old_at.values.flatten()
        results = [self._column(i, new_rows[i], old_rows[i], plan) for i in range(len(self.fields))]
        records = np.array(plan.records, np.int64)
        at = pa.array(records)
        results += [one.column(columns[one.field]).take(at) for one in self.metadata]
        changes = Changes(results, len(records), np.array(plan.kinds, np.int8))
        if self.settings.ignore_parse_errors:
            bad = []
        return Decoded(changes, origins[records], sorted(bad, key=lambda entry: entry[0]))

    def _taken(self, columns: dict[str, pa.Array], count: int) -> list[bool]:
        taken = [True] * count
        for name, pattern in (("database", self.database), ("table", self.table)):
            if pattern is not None:
                matches = re.compile(pattern).fullmatch
                values = columns[name].to_pylist()
                taken = [
                    was and value is not None and bool(matches(value)) for was, value in zip(taken, values, strict=True)
                ]
        return taken

    def _add(self, plan: _Plan, record: int, operation: str | None, data: _Ranges, old: _Ranges, element: Any) -> None:
        form = self.form
        if operation not in (form.insert, form.update, form.delete):
            known = ", ".join((form.insert, form.update, form.delete))
            raise ElementError(
                "RECORD_FORMAT",
                f'The {form.title} record has the "type" value {shown(operation)}; expected one of {known}.',
            )
        rows = data.of(record)
        if rows is None:
            raise ElementError("RECORD_FORMAT", f'The "data" field of a {form.title} record is null.')
        if operation != form.update:
            for row in rows:
                plan.add(record, INSERT if operation == form.insert else DELETE, row)
            return
        before = old.of(record)
        if before is None or len(before) != len(rows):
            raise ElementError(
                "RECORD_FORMAT", f'The "old" field of a {form.title} update does not fit to its "data" field.'
            )
        names = _old_names(element, form.many)
        for number, (row, previous) in enumerate(zip(rows, before, strict=True)):
            plan.add(record, UPDATE_BEFORE, row, previous, names[number])
            plan.add(record, UPDATE_AFTER, row)

    def _column(self, number: int, new: pa.Array, old: pa.Array, plan: _Plan) -> pa.Array:
        """Takes each value from `new`, or from `old` if the record has an old value of this column."""
        name, count = self.fields[number].name, len(new)
        at = [
            count + previous if names is not None and name in names else row
            for row, previous, names in zip(plan.rows, plan.previous, plan.names, strict=True)
        ]
        return pa.concat_arrays([new, old]).take(pa.array(at, pa.int64()))


class _Plan:
    """The rows that some records have: record, kind, row of `data`, row of `old`, and the columns that `old` has."""

    def __init__(self) -> None:
        self.records: list[int] = []
        self.kinds: list[int] = []
        self.rows: list[int] = []
        self.previous: list[int] = []
        self.names: list[Any] = []

    def add(self, record: int, kind: int, row: int, previous: int = 0, names: Any = None) -> None:
        self.records.append(record)
        self.kinds.append(kind)
        self.rows.append(row)
        self.previous.append(previous)
        self.names.append(names)


class _Ranges:
    """The positions of the rows of each record in one column of rows."""

    def __init__(self, column: pa.Array, many: bool) -> None:
        self._many = many
        self._valid = column.is_valid().to_pylist()
        self._offsets = column.offsets.to_pylist() if many else []
        self.values = column.values if many else column

    def of(self, record: int) -> range | None:
        if not self._valid[record]:
            return None
        return range(self._offsets[record], self._offsets[record + 1]) if self._many else range(record, record + 1)


def _old_names(element: Any, many: bool) -> list[Any]:
    """Returns the names of the columns that each old row of a record contains, also if their value is null."""
    try:
        old = msgspec.json.decode(element)["old"]
    except msgspec.DecodeError:
        old = load_json(element)["old"]
    return [set(row or ()) for row in old] if many else [set(old)]
