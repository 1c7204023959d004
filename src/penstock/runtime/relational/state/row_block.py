"""Several rows as the bytes of one entry of state."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

_FEW = 8  # rows that are smaller one by one than as columns
_ROWS, _COLUMNS = b"\x00", b"\x01"


class RowBlockCodec:
    """Encodes rows of given types together: few rows one by one, many as columns.

    >>> from penstock.types.logical.kinds import INT
    >>> codec = RowBlockCodec([INT])
    >>> blocks = [codec.encode([pa.array(range(n), pa.int32())]) for n in (2, 20)]
    >>> [[len(column) for column in codec.decode([block])] for block in blocks], len(codec.decode(blocks)[0])
    ([[2], [20]], 22)
    """

    def __init__(self, types: Sequence[LogicalType]) -> None:
        self.types = [arrow_type(t) for t in types]
        self._schema = pa.schema([pa.field(str(i), t) for i, t in enumerate(self.types)])
        self._codec = RowCodec(types)

    def encode(self, columns: Sequence[pa.Array]) -> bytes:
        """Returns the bytes of rows."""
        if len(columns[0]) < _FEW:
            return _ROWS + pack(self._codec.encode(columns))
        return _COLUMNS + bytes(pa.record_batch(columns, schema=self._schema).serialize().to_pybytes())

    def decode(self, blocks: Sequence[bytes]) -> list[pa.Array]:
        """Returns the rows of blocks as columns, in the order of the blocks."""
        parts: list[list[pa.Array]] = []
        rows: list[bytes] = []  # of consecutive blocks of few rows, which are decoded together
        for block in blocks:
            if block[:1] == _ROWS:
                rows += unpack(block[1:])
                continue
            if rows:
                parts.append(self._codec.decode(rows))
                rows = []
            parts.append(list(pa.ipc.read_record_batch(pa.py_buffer(block)[1:], self._schema).columns))
        if rows or not parts:
            parts.append(self._codec.decode(rows))
        if len(parts) == 1:
            return parts[0]
        return [pa.concat_arrays([part[i] for part in parts]) for i in range(len(self.types))]
