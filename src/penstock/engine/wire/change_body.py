"""Encodes changes of tables for other processes: an Arrow stream whose last column contains the kinds, if there are any."""

from __future__ import annotations

import pyarrow as pa

from penstock.runtime.relational.changes import Changes

_KINDS = "kinds"


def pack_changes(changes: Changes) -> bytes:
    """Encodes changes.

    >>> unpack_changes(pack_changes(Changes([pa.array([1, 2])], 2))).columns[0].to_pylist()
    [1, 2]
    """
    columns = list(changes.columns)
    names = [str(i) for i in range(len(columns))]
    if changes.kinds is not None or not columns:  # without columns, the kinds say how many rows there are
        columns.append(pa.array(changes.all_kinds()))
        names.append(_KINDS)
    batch = pa.RecordBatch.from_arrays(columns, names=names)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpack_changes(data: bytes) -> Changes:
    """Decodes changes."""
    batch = pa.ipc.open_stream(data).read_next_batch()
    columns, kinds = batch.columns, None
    if batch.schema.names[-1] == _KINDS:
        kinds = columns[-1].to_numpy()
        columns = columns[:-1]
    return Changes(columns, batch.num_rows, kinds)
