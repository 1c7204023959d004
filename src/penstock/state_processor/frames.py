"""A state cut into tasks: which blocks of which file each of them reads, and the columns that all of them give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pyarrow as pa

from penstock.connectors.file.system import Options, file_system
from penstock.errors import StateError
from penstock.savepoints import Savepoint, StateFile, StateFileReader
from penstock.state_processor.entries import scope_of
from penstock.state_processor.natural import ARROW_ERRORS
from penstock.state_processor.requests import Request, batches_of_file

_TASK = 64 << 20  # bytes before compression that one task reads


class Piece(msgspec.Struct):
    """Some blocks of a file, by their places in it."""

    file: StateFile
    blocks: list[int]


class StateFrame:
    """All that Spark needs to read a state in tasks."""

    def __init__(self, savepoint: Savepoint, options: Options | None, wanted: Request) -> None:
        self._path = savepoint.path
        self._options = options
        self._wanted = wanted
        pieces = list(_pieces(savepoint, wanted))
        self.tasks = [msgspec.msgpack.encode(piece) for piece in pieces]
        self.schema = self._schema(savepoint, pieces)

    def _schema(self, savepoint: Savepoint, pieces: list[Piece]) -> pa.Schema:
        """The columns of the first block that has rows."""
        for piece in pieces:
            for block in piece.blocks:
                for batch in batches_of_file(savepoint.system, self._path, piece.file, self._wanted, [block]):
                    return batch.schema
        return pa.schema([("key", pa.string()), ("value", pa.string())])

    def reading(self) -> Callable[[bytes], Iterator[pa.RecordBatch]]:
        """What a task calls with its description."""
        path, options, wanted, schema = self._path, self._options, self._wanted, self.schema

        def read(task: bytes) -> Iterator[pa.RecordBatch]:
            piece = msgspec.msgpack.decode(task, type=Piece)
            for batch in batches_of_file(file_system(path, options), path, piece.file, wanted, piece.blocks):
                yield _fitted(batch, schema, wanted)

        return read


def _pieces(savepoint: Savepoint, wanted: Request) -> Iterator[Piece]:
    for file in savepoint.manifest.files:
        with StateFileReader(savepoint.system, savepoint.path, file) as reader:
            mine = [
                (place, block)
                for place, block in enumerate(reader.blocks)
                if (block.operator, block.state) == (wanted.operator, wanted.state.name)
            ]
        taken: list[int] = []
        size = 0
        for place, block in mine:
            taken.append(place)
            size += block.raw
            if size >= _TASK:
                yield Piece(file, taken)
                taken, size = [], 0
        if taken:
            yield Piece(file, taken)
        if mine and scope_of(wanted.state.name)[0] == "slot":
            return  # every slot has a copy of broadcast state


def _fitted(batch: pa.RecordBatch, schema: pa.Schema, wanted: Request) -> pa.RecordBatch:
    if batch.schema == schema:
        return batch
    columns = []
    for field in schema:
        at = batch.schema.get_field_index(field.name)
        if at < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            columns.append(batch.column(at).cast(field.type))
        except ARROW_ERRORS as error:
            raise StateError(
                "STATE_COLUMN_MIXED",
                f"Column '{field.name}' of state '{wanted.state.name}' is {field.type} in the first rows, and "
                f"{batch.schema.field(at).type} in others: {error}. Give value_type=, or read it with table().",
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)
