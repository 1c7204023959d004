"""The storage of `materialize()`: the output of an operator in a batch is written once and read when the batch is repeated."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from penstock.engine.wire.body import pack_body, unpack_body
from penstock.engine.wire.frames import pack_tags, unpack_tags
from penstock.runtime.loop.records import Column, Tags


class MaterializedStore(Protocol):
    """Stores the first version of each batch."""

    def store_first(self, operator: str, slot: int, batch: int, data: bytes) -> bytes:
        """Stores the output of a batch unless a version exists. Returns the stored version."""
        ...


class MemoryMaterializedStore:
    """Stores batches in memory, for the harness."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, int, int], bytes] = {}

    def store_first(self, operator: str, slot: int, batch: int, data: bytes) -> bytes:
        return self._stored.setdefault((operator, slot, batch), data)


class FileMaterializedStore:
    """Stores batches as files in the checkpoint folder, which all executors can access."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def store_first(self, operator: str, slot: int, batch: int, data: bytes) -> bytes:
        folder = self._folder / f"{operator}-{slot}"
        folder.mkdir(parents=True, exist_ok=True)
        final = folder / str(batch)
        temporary = folder / f".{batch}.{os.getpid()}"
        temporary.write_bytes(data)
        try:
            os.link(temporary, final)  # fails if another attempt has already stored its version
        except FileExistsError:
            data = final.read_bytes()
        finally:
            temporary.unlink()
        for old in folder.iterdir():
            if old.name.isdigit() and int(old.name) < batch - 1:
                with contextlib.suppress(FileNotFoundError):
                    old.unlink()
        return data


def pack_materialized(values: list[Any], timestamps: Column, tags: Tags) -> bytes:
    return msgspec.msgpack.encode((timestamps.tobytes(), pack_tags(tags), pack_body(None, values)))


def unpack_materialized(data: bytes) -> tuple[list[Any], Column, Tags]:
    timestamps, tags, body = msgspec.msgpack.decode(data)
    return unpack_body(body)[1], np.frombuffer(timestamps, np.int64), unpack_tags(tags)
