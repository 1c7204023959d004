"""Reads one state of a savepoint, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.connectors.file.system.file_system import FileSystem
from penstock.runtime.state.tables import KEY_TABLE
from penstock.savepoints import SavedState, Savepoint, StateBlock, StateFile, StateFileReader
from penstock.state_processor.entries import split_scope
from penstock.state_processor.keys import KeyDecoder
from penstock.state_processor.rows import StateRows
from penstock.state_processor.values import ValueColumns
from penstock.types import TypeInformation


class StateRequest:
    """A state of an operator, and the type of its values."""

    def __init__(self, operator: str, state: SavedState, value_type: TypeInformation | None) -> None:
        self.operator = operator
        self.state = state
        self.value_type = value_type

    def rows(self) -> StateRows:
        """Converts entries of the state to rows."""
        return StateRows(self.state, ValueColumns(self.state, self.value_type))


def read_batches(savepoint: Savepoint, files: Iterable[StateFile], request: StateRequest) -> Iterator[pa.RecordBatch]:
    """The rows of a state in some files of a savepoint. Broadcast state, which every slot has, is read once."""
    broadcast = split_scope(request.state.name)[0] == "slot"
    for file in files:
        read = False
        for batch in read_file_batches(savepoint.system, savepoint.path, file, request):
            read = True
            yield batch
        if broadcast and read:
            return


def read_file_batches(
    system: FileSystem, folder: str, file: StateFile, request: StateRequest, indexes: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a state in one file, optionally only of the blocks with the given indexes."""
    rows = request.rows()
    for flat, keys in _read_blocks(system, folder, file, request, indexes):
        batch = rows.batch(flat, keys)
        if batch.num_rows:
            yield batch


def read_python_rows(savepoint: Savepoint, request: StateRequest) -> Iterator[dict[str, Any]]:
    """The rows of a state with Python values. Broadcast state, which every slot has, is read once."""
    broadcast, rows = split_scope(request.state.name)[0] == "slot", request.rows()
    for file in savepoint.manifest.files:
        found = False
        for flat, keys in _read_blocks(savepoint.system, savepoint.path, file, request):
            found = True
            yield from rows.python_rows(flat, keys)
        if broadcast and found:
            return


def _read_blocks(
    system: FileSystem, folder: str, file: StateFile, request: StateRequest, indexes: Sequence[int] | None = None
) -> Iterator[tuple[list[bytes], KeyDecoder]]:
    """The entries of a state in one file, block by block, and the decoder of its keys."""
    with StateFileReader(system, folder, file) as reader:
        blocks = reader.blocks if indexes is None else [reader.blocks[index] for index in indexes]
        own = [b for b in blocks if (b.operator, b.state) == (request.operator, request.state.name)]
        keys: KeyDecoder | None = None
        for block in own:
            if keys is None:
                keys = read_key_decoder(reader, request.operator)
            yield reader.read(block), keys


def read_key_decoder(reader: StateFileReader, operator: str) -> KeyDecoder:
    """The decoder for the keys of an operator in a file. The file contains the pickles of its keys."""
    pickled: dict[bytes, bytes] = {}
    for block in reader.blocks:
        if _is_key_table(block, operator):
            flat = reader.read(block)
            pickled.update(zip(flat[::2], flat[1::2], strict=True))
    return KeyDecoder(pickled)


def _is_key_table(block: StateBlock, operator: str) -> bool:
    return (block.operator, block.state) == (operator, KEY_TABLE)
