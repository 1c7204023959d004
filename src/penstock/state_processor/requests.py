"""One state of a savepoint, read block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from penstock.connectors.file.system import FileSystem
from penstock.runtime.state.backend import KEY_TABLE
from penstock.savepoints import Block, SavedState, Savepoint, StateFile, StateFileReader
from penstock.state_processor.entries import scope_of
from penstock.state_processor.keys import Keys
from penstock.state_processor.rows import StateRows
from penstock.state_processor.values import Values
from penstock.types import TypeInformation


class Request:
    """One state of one operator, and how its values are read."""

    def __init__(self, operator: str, state: SavedState, value_type: TypeInformation | None) -> None:
        self.operator = operator
        self.state = state
        self.value_type = value_type

    def rows(self) -> StateRows:
        """What turns its entries into rows."""
        return StateRows(self.state, Values(self.state, self.value_type))


def batches_of(savepoint: Savepoint, files: Iterable[StateFile], wanted: Request) -> Iterator[pa.RecordBatch]:
    """The rows of a state in some files of a savepoint. Every slot has a copy of broadcast state: one is enough."""
    broadcast = scope_of(wanted.state.name)[0] == "slot"
    for file in files:
        read = False
        for batch in batches_of_file(savepoint.system, savepoint.path, file, wanted):
            read = True
            yield batch
        if broadcast and read:
            return


def batches_of_file(
    system: FileSystem, folder: str, file: StateFile, wanted: Request, places: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a state in one file; of some blocks of it only, if their places are given."""
    rows = wanted.rows()
    with StateFileReader(system, folder, file) as reader:
        blocks = reader.blocks if places is None else [reader.blocks[place] for place in places]
        mine = [b for b in blocks if (b.operator, b.state) == (wanted.operator, wanted.state.name)]
        keys: Keys | None = None
        for block in mine:
            if keys is None:
                keys = keys_of(reader, wanted.operator)
            batch = rows.batch(reader.read(block), keys)
            if batch.num_rows:
                yield batch


def keys_of(reader: StateFileReader, operator: str) -> Keys:
    """The keys of an operator that their bytes do not give back: they are in the same file as what they have."""
    pickled: dict[bytes, bytes] = {}
    for block in reader.blocks:
        if _is_key_table(block, operator):
            flat = reader.read(block)
            pickled.update(zip(flat[::2], flat[1::2], strict=True))
    return Keys(pickled)


def _is_key_table(block: Block, operator: str) -> bool:
    return (block.operator, block.state) == (operator, KEY_TABLE)
