"""State that is added to a savepoint: where its rows come from, and the files that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from penstock.connectors.file.system import Options, file_system
from penstock.runtime.state.backend import KEY_TABLE
from penstock.savepoints import SavedState, StateFile, StateFileWriter
from penstock.state_processor.blocks import StateBlocks
from penstock.state_processor.given import Rows, is_spark_frame
from penstock.state_processor.image import OperatorImage

Fill = Callable[[OperatorImage, Rows], None]


class Written(msgspec.Struct):
    """What was written of an addition: files, states, and the keys that have entries in each."""

    files: list[StateFile]
    states: list[SavedState]
    keys: dict[str, set[bytes]]


class Addition:
    """Rows for one operator, and what fills its image with them."""

    def __init__(self, uid: str, rows: Rows, fill: Fill, key: list[str], replaces: tuple[str, ...] = ()) -> None:
        self.uid = uid
        self._rows = rows
        self._fill = fill
        self._key = key  # columns by which rows are spread over tasks
        self.replaces = replaces  # states of which the given keys lose all, even if they get nothing there

    def write(self, path: str, options: Options | None, name: str, max_parallelism: int) -> Written:
        """Writes the files of the addition: one, or one per task of a Spark frame."""
        if not is_spark_frame(self._rows):
            return write_image(self.uid, self._fill, self._rows, path, options, name, max_parallelism)
        from penstock.spark.state_frame import in_tasks  # Spark is there if somebody has a frame of it

        uid, fill = self.uid, self._fill

        def write(batches: Iterator[pa.RecordBatch], task: str) -> bytes:
            reader = _reader(batches)
            if reader is None:
                return b""
            part = write_image(uid, fill, reader, path, options, f"{name}-{task}", max_parallelism)
            return msgspec.msgpack.encode(part)

        parts = [msgspec.msgpack.decode(p, type=Written) for p in in_tasks(self._rows, self._key, write) if p]
        return _merged(parts)


def write_image(
    uid: str, fill: Fill, rows: Rows, path: str, options: Options | None, name: str, max_parallelism: int
) -> Written:
    """One file of what rows become."""
    image = OperatorImage(uid, max_parallelism)
    fill(image, rows)
    writer = StateFileWriter(file_system(path, options), path, name)
    blocks = StateBlocks(max_parallelism)
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
    return Written([writer.close()], states, keys)


def _reader(batches: Iterator[pa.RecordBatch]) -> Any:
    first = next(batches, None)
    if first is None:
        return None

    def all_of() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_of())


def _merged(parts: list[Written]) -> Written:
    states: dict[str, SavedState] = {}
    keys: dict[str, set[bytes]] = {}
    for part in parts:
        for state in part.states:
            known = states.get(state.name)
            more = (
                state
                if known is None
                else msgspec.structs.replace(state, entries=known.entries + state.entries, size=known.size + state.size)
            )
            states[state.name] = more
        for name, found in part.keys.items():
            keys.setdefault(name, set()).update(found)
    return Written([f for p in parts for f in p.files], list(states.values()), keys)
