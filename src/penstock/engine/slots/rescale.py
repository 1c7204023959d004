"""Redistributes the state of the slots of a level to another number of slots or key groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.engine.slots.entry_groups import entry_key_group, slot_of_group, with_key_group
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.runtime.state.tables import StateTable

_TABLE = 2  # bytes of the table number at the start of an entry key


@dataclass(slots=True)
class SlotState:
    """The state of a slot: clocks and tables, and entries."""

    meta: SlotMetadata
    entries: dict[bytes, bytes] = field(default_factory=dict)


def rescale(
    slots: Sequence[SlotState],
    widths: Mapping[str, int],
    *,
    parallelism: int,
    max_parallelism: int,
    max_parallelism_before: int,
) -> list[SlotState]:
    """Distributes the state of the slots of a level to `parallelism` slots.

    `widths` is the parallelism of each operator by uid. Clocks and split tables are equal in all slots, so each new slot
    gets a copy. Broadcast state is copied to every slot of its operator. Keyed state and timers go to the slot of their
    key group. State of operators that are not in `widths` is dropped.

    >>> saved = [SlotState(SlotMetadata(batch=7))]
    >>> [s.meta.batch for s in rescale(saved, {}, parallelism=2, max_parallelism=8, max_parallelism_before=8)]
    [7, 7]
    """
    if not slots:
        return [SlotState(SlotMetadata()) for _ in range(parallelism)]
    _check_clocks(slots)
    tables = _merged_tables(slots, widths)
    hashes = _broadcast_hashes(slots)
    new_slots = [SlotState(_copy_metadata(slots[0].meta, tables.values())) for _ in range(parallelism)]
    for number, slot in enumerate(new_slots):
        slot.meta.broadcast = {uid: h for uid, h in hashes.items() if number < widths.get(uid, 0)}
        slot.meta.key_forms = _unchecked_keys(slots)
    move = EntryPlacement(max_parallelism, max_parallelism != max_parallelism_before)
    for slot in slots:
        by_number = {t.number.to_bytes(_TABLE, "big"): t for t in slot.meta.tables}
        for stored, value in slot.entries.items():
            old = by_number[stored[:_TABLE]]
            table = tables.get((old.operator, old.name))
            if table is None:
                continue
            group, rest = move.assign(table, stored)
            width = widths[table.operator]
            targets = range(width) if group is None else (slot_of_group(group, width, max_parallelism),)
            for target in targets:
                new_slots[target].entries[table.number.to_bytes(_TABLE, "big") + rest] = value
    return new_slots


class EntryPlacement:
    """Assigns entries to key groups."""

    def __init__(self, max_parallelism: int, regroup: bool) -> None:
        self.max_parallelism = max_parallelism
        self._regroup = regroup  # the number of key groups changes

    def assign(self, table: StateTable, stored: bytes) -> tuple[int | None, bytes]:
        """The key group, None if every slot has a copy, and the entry key after the table number."""
        rest = stored[_TABLE:]
        if self._regroup:
            rest = with_key_group(table.kind, rest, self.max_parallelism)
        return entry_key_group(table.kind, rest, self.max_parallelism), rest


def _merged_tables(slots: Sequence[SlotState], widths: Mapping[str, int]) -> dict[tuple[str, str], StateTable]:
    """Numbers the tables of all slots anew, because a table may have different numbers in different slots."""
    merged: dict[tuple[str, str], StateTable] = {}
    for slot in slots:
        for table in slot.meta.tables:
            if table.operator in widths:
                known = merged.setdefault((table.operator, table.name), msgspec.structs.replace(table, cursor=b""))
                if (known.kind, known.schema) != (table.kind, table.schema):
                    raise _slots_differ(f"the type of state '{table.name}' of operator '{table.operator}'")
    for number, key in enumerate(sorted(merged), 1):
        merged[key].number = number
    return merged


def _check_clocks(slots: Sequence[SlotState]) -> None:
    first = _without_tables(slots[0].meta)
    for slot in slots[1:]:
        if _without_tables(slot.meta) != first:
            raise _slots_differ("the batch, the clock or a watermark")


def _without_tables(meta: SlotMetadata) -> SlotMetadata:
    return msgspec.structs.replace(meta, tables=[], broadcast={}, key_forms={})


def _broadcast_hashes(slots: Sequence[SlotState]) -> dict[str, int]:
    """The hashes of broadcast state. A slot beyond the parallelism of an operator has none."""
    hashes: dict[str, int] = {}
    for slot in slots:
        for uid, hashed in slot.meta.broadcast.items():
            if hashes.setdefault(uid, hashed) != hashed:
                raise _slots_differ(f"the broadcast state of operator '{uid}'")
    return hashes


def _unchecked_keys(slots: Sequence[SlotState]) -> dict[str, list[Any]]:
    """The restored keys that no slot has compared with its elements yet."""
    forms = slots[0].meta.key_forms
    return {uid: known for uid, known in forms.items() if all(uid in slot.meta.key_forms for slot in slots)}


def _slots_differ(about: str) -> CheckpointError:
    return CheckpointError(
        "SLOTS_DIFFER",
        f"The slots of a level differ in {about}, which must be equal in all slots of a committed batch. The checkpoint is "
        "damaged. Resume from an earlier one.",
    )


def _copy_metadata(meta: SlotMetadata, tables: Iterable[StateTable]) -> SlotMetadata:
    """A deep copy of the clocks of a slot, with other tables."""
    copy = msgspec.msgpack.decode(msgspec.msgpack.encode(_without_tables(meta)), type=SlotMetadata)
    copy.tables = [msgspec.structs.replace(t) for t in tables]
    return copy
