"""What `materialize()` stores: an operator's elements of a batch, written once and read by every later run of that batch."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from penstock.engine.body import pack_body, unpack_body
from penstock.engine.frames import pack_tags, unpack_tags
from penstock.runtime.records import Column, Tags


class Materials(Protocol):
    """Keeps the first version of each batch."""

    def keep(self, operator: str, slot: int, batch: int, data: bytes) -> bytes:
        """Stores data unless there is a version already; gives the version that counts."""
        ...


class MemoryMaterials:
    """In memory, for the harness."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int, int], bytes] = {}

    def keep(self, operator: str, slot: int, batch: int, data: bytes) -> bytes:
        return self._kept.setdefault((operator, slot, batch), data)


class FileMaterials:
    """In files of the checkpoint's folder, which all executors reach."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def keep(self, operator: str, slot: int, batch: int, data: bytes) -> bytes:
        folder = self._folder / f"{operator}-{slot}"
        folder.mkdir(parents=True, exist_ok=True)
        final = folder / str(batch)
        temporary = folder / f".{batch}.{os.getpid()}"
        temporary.write_bytes(data)
        try:
            os.link(temporary, final)  # fails if somebody was first: theirs counts
        except FileExistsError:
            data = final.read_bytes()
        finally:
            temporary.unlink()
        for old in folder.iterdir():
            if old.name.isdigit() and int(old.name) < batch - 1:
                with contextlib.suppress(FileNotFoundError):
                    old.unlink()
        return data


def pack(values: list[Any], timestamps: Column, tags: Tags) -> bytes:
    return msgspec.msgpack.encode((timestamps.tobytes(), pack_tags(tags), pack_body(None, values)))


def unpack(data: bytes) -> tuple[list[Any], Column, Tags]:
    timestamps, tags, body = msgspec.msgpack.decode(data)
    return unpack_body(body)[1], np.frombuffer(timestamps, np.int64), unpack_tags(tags)
