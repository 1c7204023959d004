"""Divides a state into Spark tasks: the blocks that each task reads, and the common schema of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pyarrow as pa

from penstock.connectors.file.system.file_system import Options, file_system
from penstock.errors import StateError
from penstock.savepoints import Savepoint, StateFile, StateFileReader
from penstock.state_processor.arrow_values import ARROW_ERRORS
from penstock.state_processor.entries import split_scope
from penstock.state_processor.requests import StateRequest, read_file_batches

_TASK_SIZE = 64 << 20  # uncompressed bytes per task


class TaskBlocks(msgspec.Struct):
    """Blocks of a file that a task reads, by their index."""

    file: StateFile
    blocks: list[int]


class StateFrame:
    """The tasks and the schema with which Spark reads a state."""

    def __init__(self, savepoint: Savepoint, options: Options | None, request: StateRequest) -> None:
        self._path = savepoint.path
        self._options = options
        self._request = request
        tasks = list(_split_tasks(savepoint, request))
        self.tasks = [msgspec.msgpack.encode(task_blocks) for task_blocks in tasks]
        self.schema = self._schema(savepoint, tasks)

    def _schema(self, savepoint: Savepoint, tasks: list[TaskBlocks]) -> pa.Schema:
        """The schema of the first block with rows."""
        for task_blocks in tasks:
            for block in task_blocks.blocks:
                for batch in read_file_batches(savepoint.system, self._path, task_blocks.file, self._request, [block]):
                    return batch.schema
        return pa.schema([("key", pa.string()), ("value", pa.string())])

    def task_reader(self) -> Callable[[bytes], Iterator[pa.RecordBatch]]:
        """The function that a task calls with its encoded blocks."""
        path, options, request, schema = self._path, self._options, self._request, self.schema

        def read(task: bytes) -> Iterator[pa.RecordBatch]:
            task_blocks = msgspec.msgpack.decode(task, type=TaskBlocks)
            for batch in read_file_batches(
                file_system(path, options), path, task_blocks.file, request, task_blocks.blocks
            ):
                yield _cast(batch, schema, request)

        return read


def _split_tasks(savepoint: Savepoint, request: StateRequest) -> Iterator[TaskBlocks]:
    for file in savepoint.manifest.files:
        with StateFileReader(savepoint.system, savepoint.path, file) as reader:
            own = [
                (index, block)
                for index, block in enumerate(reader.blocks)
                if (block.operator, block.state) == (request.operator, request.state.name)
            ]
        blocks: list[int] = []
        size = 0
        for index, block in own:
            blocks.append(index)
            size += block.raw_size
            if size >= _TASK_SIZE:
                yield TaskBlocks(file, blocks)
                blocks, size = [], 0
        if blocks:
            yield TaskBlocks(file, blocks)
        if own and split_scope(request.state.name)[0] == "slot":
            return  # every slot has the same broadcast state


def _cast(batch: pa.RecordBatch, schema: pa.Schema, request: StateRequest) -> pa.RecordBatch:
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
                f"Column '{field.name}' of state '{request.state.name}' is {field.type} in the first rows, and "
                f"{batch.schema.field(at).type} in others: {error}. Set value_type=, or read the state with table().",
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)
