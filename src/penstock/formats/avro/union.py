"""The types of Avro's null and of unions of several types, with their columns in Parquet files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.types import Misfit, PickledBytesTypeInfo, TypeInformation
from penstock.types.arrow import ArrowColumn, FileColumns, HasFileColumn, nullable


class AvroNullTypeInfo(PickledBytesTypeInfo, HasFileColumn):
    """The type of values that are always None. As in parquet-avro, they have no column in files."""

    def file_column(self, columns: FileColumns) -> ArrowColumn:
        return ArrowColumn(pa.null())


class AvroUnionTypeInfo(PickledBytesTypeInfo, HasFileColumn):
    """The type of values of one of several types. As in parquet-avro, a file has a group of columns member0, member1, ..."""

    def __init__(self, members: list[TypeInformation]) -> None:
        self._members = members

    def file_column(self, columns: FileColumns) -> ArrowColumn:
        members = [columns.visit(member) for member in self._members]
        names = [f"member{n}" for n in range(len(members))]
        encoders, decoders = [nullable(m.encode) for m in members], [nullable(m.decode) for m in members]

        def encode(value: Any) -> dict[str, Any]:
            at, converted = self._member_of(value)
            return {names[at]: encoders[at](converted)}

        def decode(group: dict[str, Any]) -> Any:
            return next((d(group[n]) for n, d in zip(names, decoders, strict=True) if group[n] is not None), None)

        return ArrowColumn(pa.struct([(n, m.arrow) for n, m in zip(names, members, strict=True)]), encode, decode)

    def _member_of(self, value: Any) -> tuple[int, Any]:
        """Returns the index of the type of a value: the first that it has, or else the first to which it can be converted."""
        for at, member in enumerate(self._members):
            if member.fits([value]):
                return at, value
        for at, member in enumerate(self._members):
            try:
                return at, member.convert(value)
            except Misfit:
                continue
        names = ", ".join(member.name for member in self._members)
        raise pa.ArrowInvalid(f"{value!r:.80} has none of the types of the union: {names}")
