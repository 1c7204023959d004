"""Encoders of change capture formats: each change becomes an insertion or a deletion, as Flink writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.formats.columns.json_encoder import JsonEncoder, JsonWriteSettings
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import STRING, ArrayType, Field, RowType

Envelope = Literal["before-after", "rows", "row"]


class ChangeEncoder:
    """Encodes changes in envelopes.

    >>> from penstock.types.logical.kinds import INT
    >>> encoder = ChangeEncoder([Field("a", INT)], "before-after", "op", ("c", "d"))
    >>> encoder.encode(Changes([pa.array([1, 1], pa.int32())], 2, np.array([0, 3], np.int8)))[0]
    [b'{"before":null,"after":{"a":1},"op":"c"}', b'{"before":{"a":1},"after":null,"op":"d"}']
    """

    def __init__(
        self,
        fields: Sequence[Field],
        envelope: Envelope,
        operation: str,
        operations: tuple[str, str],
        settings: JsonWriteSettings | None = None,
    ) -> None:
        self.fields = tuple(fields)
        self.envelope = envelope
        self.operations = operations  # of an insertion and of a deletion
        row = RowType(self.fields)
        if envelope == "before-after":
            body = [Field("before", row), Field("after", row)]
        else:
            body = [Field("data", ArrayType(row) if envelope == "rows" else row)]
        self.json = JsonEncoder([*body, Field(operation, STRING)], settings)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one JSON text per change."""
        kinds = changes.all_kinds()
        removed = (kinds == DELETE) | (kinds == UPDATE_BEFORE)
        operations = pa.array(np.where(removed, self.operations[1], self.operations[0]), pa.string())
        kind = arrow_type(RowType(self.fields))
        count = changes.length

        def rows(absent: NDArray[np.bool_] | None) -> pa.Array:
            mask = None if absent is None else pa.array(absent)
            return pa.StructArray.from_arrays(changes.columns, fields=list(kind), mask=mask)

        if self.envelope == "before-after":
            body = [rows(~removed), rows(removed)]
        elif self.envelope == "rows":
            body = [pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), rows(None))]
        else:
            body = [rows(None)]
        return self.json.encode(Changes([*body, operations], count))
