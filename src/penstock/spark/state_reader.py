"""Reads the state of a checkpoint: all entries of each slot, as of its last committed batch."""

from __future__ import annotations

import msgspec
from pyspark.sql import SparkSession

from penstock.engine.slot_meta import SlotMeta
from penstock.spark.slots import slots
from penstock.spark.statelog import all_chunks, read_header


class DictStore:
    """A slot's part of Spark's state store, read into memory."""

    def __init__(self, entries: dict[str, bytes]) -> None:
        self._entries = entries

    def get(self, key: str) -> bytes | None:
        return self._entries.get(key)

    def put(self, key: str, value: bytes) -> None:
        self._entries[key] = value

    def remove(self, key: str) -> None:
        self._entries.pop(key, None)


SlotState = tuple[SlotMeta, dict[bytes, bytes]]


def read_state(
    session: SparkSession, folder: str, parallelism: int, levels: int, batch: int | None = None
) -> dict[tuple[int, int], SlotState]:
    """Clocks and entries by (level, slot)."""
    _ = session.streams  # starts Spark's coordinator of state stores, which reading needs
    found: dict[tuple[int, int], SlotState] = {}
    for level in range(1, levels + 1):
        # Spark numbers stateful operators from the sink's end on.
        reader = session.read.format("statestore").option("operatorId", levels - level).option("stateVarName", "log")
        if batch is not None:
            reader = reader.option("batchId", batch)
        rows = reader.load(folder).select("key.slot", "user_map_key.k", "user_map_value.v").collect()
        by_slot: dict[int, dict[str, bytes]] = {}
        for label, key, value in rows:
            by_slot.setdefault(slots(parallelism)[label], {})[key] = bytes(value)
        for slot, entries in by_slot.items():
            found[level, slot] = _slot_state(entries)
    return found


def _slot_state(stored: dict[str, bytes]) -> SlotState:
    header = read_header(stored["h"])
    entries: dict[bytes, bytes] = {}
    for changes in all_chunks(DictStore(stored), header):
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
    return msgspec.msgpack.decode(header.meta, type=SlotMeta), entries
