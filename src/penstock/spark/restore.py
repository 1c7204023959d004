"""State that a fresh checkpoint starts with: files of slots, written on the driver, read by each slot in its first batch."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock.engine.rescale import SlotState
from penstock.engine.slot_meta import SlotMeta


class _Saved(msgspec.Struct, array_like=True):
    meta: SlotMeta
    entries: dict[bytes, bytes]


_decoder = msgspec.msgpack.Decoder(_Saved)


def write_initial(folder: str, slots: dict[tuple[int, int], SlotState]) -> None:
    """Writes what each (level, slot) is to start with."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for (level, slot), state in slots.items():
        _file(folder, level, slot).write_bytes(msgspec.msgpack.encode(_Saved(state.meta, state.entries)))


def read_initial(folder: str, level: int, slot: int) -> SlotState | None:
    """What a slot starts with; None: with nothing."""
    try:
        saved = _decoder.decode(_file(folder, level, slot).read_bytes())
    except FileNotFoundError:
        return None
    return SlotState(saved.meta, saved.entries)


def _file(folder: str, level: int, slot: int) -> Path:
    return Path(folder, f"{level}-{slot}")
