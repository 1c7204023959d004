"""State that is added to a savepoint: its input rows, and the state files that are written from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from penstock.connectors.file.system.file_system import Options, file_system
from penstock.runtime.state.tables import KEY_TABLE
from penstock.savepoints import SavedState, StateFile, StateFileWriter
from penstock.state_processor.blocks import BlockWriter
from penstock.state_processor.image import OperatorImage
from penstock.state_processor.input_rows import Rows, is_spark_frame

Fill = Callable[[OperatorImage, Rows], None]


class WrittenAddition(msgspec.Struct):
    """The files and states of an addition, and the keys with entries in each state."""

    files: list[StateFile]
    states: list[SavedState]
    keys: dict[str, set[bytes]]


class Addition:
    """Rows for one operator, and the function that writes them to an operator image."""

    def __init__(self, uid: str, rows: Rows, fill: Fill, key: list[str], replaces: tuple[str, ...] = ()) -> None:
        self.uid = uid
        self._rows = rows
        self._fill = fill
        self._key = key  # columns by which rows are partitioned over tasks
        self.replaces = replaces  # states in which the keys of the rows lose all entries, even if they get no new ones

    def write(self, path: str, options: Options | None, name: str, max_parallelism: int) -> WrittenAddition:
        """Writes the files of the addition: one file, or one per task for a Spark DataFrame."""
        if not is_spark_frame(self._rows):
            return write_image(self.uid, self._fill, self._rows, path, options, name, max_parallelism)
        from penstock.spark.savepoint.state_frame import (
            write_in_tasks,  # imported here, because only a Spark DataFrame needs Spark
        )

        uid, fill = self.uid, self._fill

        def write(batches: Iterator[pa.RecordBatch], task: str) -> bytes:
            reader = _reader(batches)
            if reader is None:
                return b""
            part = write_image(uid, fill, reader, path, options, f"{name}-{task}", max_parallelism)
            return msgspec.msgpack.encode(part)

        parts = [
            msgspec.msgpack.decode(p, type=WrittenAddition) for p in write_in_tasks(self._rows, self._key, write) if p
        ]
        return _merge(parts)


def write_image(
    uid: str, fill: Fill, rows: Rows, path: str, options: Options | None, name: str, max_parallelism: int
) -> WrittenAddition:
    """Writes the state of some rows to one file."""
    image = OperatorImage(uid, max_parallelism)
    fill(image, rows)
    writer = StateFileWriter(file_system(path, options), path, name)
    blocks = BlockWriter(max_parallelism)
    states, keys = [], {}
    try:
        for state, flat in image.states():
            blocks.write(writer, uid, state, flat)
            states.append(msgspec.structs.replace(state, entries=len(flat) // 2, size=sum(map(len, flat))))
            if state.name != KEY_TABLE:
                keys[state.name] = image.keys_of(state, flat)
    except BaseException:
        writer.abort()
        raise
    return WrittenAddition([writer.close()], states, keys)


def _reader(batches: Iterator[pa.RecordBatch]) -> Any:
    first = next(batches, None)
    if first is None:
        return None

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


def _merge(parts: list[WrittenAddition]) -> WrittenAddition:
    states: dict[str, SavedState] = {}
    keys: dict[str, set[bytes]] = {}
    for part in parts:
        for state in part.states:
            known = states.get(state.name)
            total = (
                state
                if known is None
                else msgspec.structs.replace(state, entries=known.entries + state.entries, size=known.size + state.size)
            )
            states[state.name] = total
        for name, part_keys in part.keys.items():
            keys.setdefault(name, set()).update(part_keys)
    return WrittenAddition([f for p in parts for f in p.files], list(states.values()), keys)
