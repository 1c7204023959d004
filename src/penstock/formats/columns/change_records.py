"""Records of change capture with a row before and after each change: Debezium and Oracle GoldenGate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.errors import ElementError
from penstock.formats.columns.interface import Decoded
from penstock.formats.columns.json_decoder import JsonDecoder, JsonSettings
from penstock.formats.columns.record_error import shown
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes
from penstock.types.logical.kinds import STRING, Field, LogicalType, RowType


@dataclass(frozen=True, slots=True)
class MetadataField:
    """A metadata column: the field of the envelope that contains it, its type there, and the key if that field is a map.

    With `milliseconds`, the field is a number of milliseconds and the column a timestamp.
    """

    field: str
    type: LogicalType
    key: str | None = None
    milliseconds: bool = False
    outside: bool = False  # beside the payload

    def column(self, values: pa.Array) -> pa.Array:
        """Returns the metadata column from the column of the envelope."""
        if self.key is not None:
            values = pc.map_lookup(values, pa.scalar(self.key), "first")
        if self.milliseconds:
            return values.cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
        return values


@dataclass(frozen=True, slots=True)
class EnvelopeNames:
    """The names of an envelope: the title of the format, the field of the operation, and its values."""

    title: str
    operation: str
    inserts: tuple[str, ...]
    updates: tuple[str, ...]
    deletes: tuple[str, ...]


DEBEZIUM = EnvelopeNames("Debezium", "op", ("c", "r"), ("u",), ("d",))
OGG = EnvelopeNames("Ogg", "op_type", ("I",), ("U",), ("D",))


class BeforeAfterDecoder:
    """Decodes envelopes with the fields before, after and an operation.

    >>> from penstock.types.logical.kinds import INT
    >>> decoder = BeforeAfterDecoder([Field("a", INT)], DEBEZIUM)
    >>> decoded = decoder.decode([b'{"before": {"a": 1}, "after": {"a": 2}, "op": "u"}'])
    >>> decoded.changes.columns[0].to_pylist(), decoded.changes.kinds.tolist(), decoded.origins.tolist()
    ([1, 2], [1, 2], [0, 0])
    """

    def __init__(
        self,
        fields: Sequence[Field],
        names: EnvelopeNames,
        settings: JsonSettings | None = None,
        metadata: Sequence[MetadataField] = (),
        with_schema: bool = False,
    ) -> None:
        self.names = names
        self.settings = settings or JsonSettings()
        self.metadata = tuple(metadata)
        self.with_schema = with_schema
        row = RowType(tuple(fields))
        inside = [Field("before", row), Field("after", row), Field(names.operation, STRING)]
        self._add(inside, [m for m in metadata if not (m.outside and with_schema)])
        envelope = inside
        if with_schema:
            envelope = [Field("payload", RowType(tuple(inside)))]
            self._add(envelope, [m for m in metadata if m.outside])
        self.inside = tuple(inside)
        self.json = JsonDecoder(envelope, self.settings)

    @staticmethod
    def _add(fields: list[Field], metadata: Sequence[MetadataField]) -> None:
        for one in metadata:
            if all(field.name != one.field for field in fields):
                fields.append(Field(one.field, one.type))

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes records. A record without a value, a tombstone, has no rows."""
        decoded = self.json.decode([element or None for element in elements])
        origins = np.arange(decoded.changes.length) if decoded.origins is None else decoded.origins
        columns = {f.name: c for f, c in zip(self.json.fields, decoded.changes.columns, strict=True)}
        if self.with_schema:
            payload = columns.pop("payload")
            columns |= {f.name: c for f, c in zip(self.inside, payload.flatten(), strict=True)}
        metadata = [one.column(columns[one.field]) for one in self.metadata]
        before, after = columns["before"], columns["after"]
        plan = change_plan(columns[self.names.operation], before, after, self.names)
        bad = [] if self.settings.ignore_parse_errors else decoded.bad + [(int(origins[i]), e) for i, e in plan.bad]
        rows = pa.concat_arrays([before, after]).flatten()
        at, of = pa.array(plan.rows), pa.array(plan.records)
        changes = Changes([c.take(at) for c in rows] + [m.take(of) for m in metadata], len(plan.rows), plan.kinds)
        return Decoded(changes, origins[plan.records], sorted(bad, key=lambda entry: entry[0]))


@dataclass(slots=True)
class ChangePlan:
    """The rows of some envelopes: position in [before, after], the envelope, and the kind."""

    rows: NDArray[np.int64]
    records: NDArray[np.int64]
    kinds: NDArray[np.int8]
    bad: list[tuple[int, Exception]]


def change_plan(operations: pa.Array, before: pa.Array, after: pa.Array, names: EnvelopeNames) -> ChangePlan:
    """Returns which rows some envelopes have, in order."""
    count = len(operations)

    def has(values: tuple[str, ...]) -> NDArray[np.bool_]:
        return np.asarray(pc.is_in(operations, pa.array(values, pa.string()))).astype(np.bool_)

    inserts, updates, deletes = has(names.inserts), has(names.updates), has(names.deletes)
    old, new = np.asarray(before.is_valid()), np.asarray(after.is_valid())
    good = (inserts & new) | (updates & old & new) | (deletes & old)
    bad: list[tuple[int, Exception]] = []
    if not good.all():
        texts = operations.to_pylist()
        bad = [(int(i), _problem(texts[i], bool(old[i]), names)) for i in np.flatnonzero(~good)]
    numbers = np.arange(count)
    sizes = np.where(updates & good, 2, good.astype(np.int64))
    records = np.repeat(numbers, sizes)
    starts = np.cumsum(sizes) - sizes
    second = np.arange(len(records)) - starts[records] == 1
    first_of_update = updates[records] & ~second
    removed = deletes[records] | first_of_update
    rows = np.where(removed, records, records + count)
    kinds = np.where(
        deletes[records], DELETE, np.where(inserts[records], INSERT, np.where(second, UPDATE_AFTER, UPDATE_BEFORE))
    )
    return ChangePlan(rows, records, kinds.astype(np.int8), bad)


def _problem(operation: str | None, has_before: bool, names: EnvelopeNames) -> ElementError:
    known = (*names.inserts, *names.updates, *names.deletes)
    if operation not in known:
        return ElementError(
            "RECORD_FORMAT",
            f'The {names.title} record has the "{names.operation}" value {shown(operation)}; expected one of {", ".join(known)}.',
        )
    kind = "INSERT" if operation in names.inserts else "UPDATE" if operation in names.updates else "DELETE"
    field = "after" if kind == "INSERT" or has_before else "before"
    hint = " Set REPLICA IDENTITY of a Postgres table to FULL." if field == "before" else ""
    return ElementError("RECORD_FORMAT", f'The "{field}" field of a {names.title} {kind} record is null.{hint}')
