"""Reads the state of a checkpoint into memory."""

from __future__ import annotations

import msgspec
from pyspark.sql import SparkSession

from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.spark.savepoint.state_reader import read_logs
from penstock.spark.session.slots import slots_by_label
from penstock.spark.state.state_format import read_all_changes, read_header
from tests.unit.spark.state.dict_store import DictStore

SlotState = tuple[SlotMetadata, dict[bytes, bytes]]


def read_state(
    session: SparkSession, folder: str, parallelism: int, levels: int, batch: int | None = None
) -> dict[tuple[int, int], SlotState]:
    """Returns metadata and entries by (level, slot)."""
    found: dict[tuple[int, int], SlotState] = {}
    for level in range(1, levels + 1):
        by_slot: dict[int, dict[str, bytes]] = {}
        for label, key, value in read_logs(session, folder, level, levels, batch).collect():
            by_slot.setdefault(slots_by_label(parallelism)[label], {})[key] = bytes(value)
        for slot, stored in by_slot.items():
            found[level, slot] = _slot_state(stored)
    return found


def _slot_state(stored: dict[str, bytes]) -> SlotState:
    header = read_header(stored["h"])
    entries: dict[bytes, bytes] = {}
    for changes in read_all_changes(DictStore(stored), header):
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
    return msgspec.msgpack.decode(header.meta, type=SlotMetadata), entries
