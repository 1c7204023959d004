"""Spreads the state of a level's slots over another number of slots, or of key groups. Pure: no store, no engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from penstock.engine.entry_groups import group_of, regrouped
from penstock.engine.routing import slot_of_group
from penstock.engine.slot_meta import SlotMeta
from penstock.errors import CheckpointError
from penstock.runtime.state.backend import Table

_TABLE = 2  # bytes of a table's number, before everything else


@dataclass(slots=True)
class SlotState:
    """All that a slot keeps: its clocks and tables, and its entries."""

    meta: SlotMeta
    entries: dict[bytes, bytes] = field(default_factory=dict)


def rescale(
    slots: Sequence[SlotState],
    widths: Mapping[str, int],
    *,
    parallelism: int,
    max_parallelism: int,
    max_parallelism_before: int,
) -> list[SlotState]:
    """The state of a level's slots, spread over `parallelism` slots.

    `widths` says over how many of them each operator (by uid) is spread. Clocks and split tables are equal in all
    slots, so each new slot gets the same; broadcast state is copied to every slot of its operator; keyed state and
    timers go where their key goes. What belongs to an operator without a width is left out.

    >>> saved = [SlotState(SlotMeta(batch=7))]
    >>> [s.meta.batch for s in rescale(saved, {}, parallelism=2, max_parallelism=8, max_parallelism_before=8)]
    [7, 7]
    """
    if not slots:
        return [SlotState(SlotMeta()) for _ in range(parallelism)]
    _check_clocks(slots)
    tables = _merged_tables(slots, widths)
    hashes = _broadcast_hashes(slots)
    placed = [SlotState(_meta(slots[0].meta, tables.values())) for _ in range(parallelism)]
    for number, slot in enumerate(placed):
        slot.meta.broadcast = {uid: h for uid, h in hashes.items() if number < widths.get(uid, 0)}
    move = Placement(max_parallelism, max_parallelism != max_parallelism_before)
    for slot in slots:
        by_number = {t.number.to_bytes(_TABLE, "big"): t for t in slot.meta.tables}
        for stored, value in slot.entries.items():
            old = by_number[stored[:_TABLE]]
            table = tables.get((old.operator, old.name))
            if table is None:
                continue
            group, rest = move.place(table, stored)
            width = widths[table.operator]
            targets = range(width) if group is None else (slot_of_group(group, width, max_parallelism),)
            for target in targets:
                placed[target].entries[table.number.to_bytes(_TABLE, "big") + rest] = value
    return placed


class Placement:
    """Where an entry belongs, and its bytes behind the table's number there."""

    def __init__(self, max_parallelism: int, regroup: bool) -> None:
        self.max_parallelism = max_parallelism
        self._regroup = regroup  # False: key groups stay

    def place(self, table: Table, stored: bytes) -> tuple[int | None, bytes]:
        """The key group (None: every slot has a copy), and the rest of the entry's key."""
        rest = stored[_TABLE:]
        if self._regroup:
            rest = regrouped(table.kind, rest, self.max_parallelism)
        return group_of(table.kind, rest, self.max_parallelism), rest


def _merged_tables(slots: Sequence[SlotState], widths: Mapping[str, int]) -> dict[tuple[str, str], Table]:
    """One numbering for all slots: a table may have had another number in each."""
    merged: dict[tuple[str, str], Table] = {}
    for slot in slots:
        for table in slot.meta.tables:
            if table.operator in widths:
                known = merged.setdefault((table.operator, table.name), msgspec.structs.replace(table, cursor=b""))
                if (known.kind, known.schema) != (table.kind, table.schema):
                    raise _differing(f"the type of state '{table.name}' of operator '{table.operator}'")
    for number, key in enumerate(sorted(merged), 1):
        merged[key].number = number
    return merged


def _check_clocks(slots: Sequence[SlotState]) -> None:
    first = _clocks(slots[0].meta)
    for slot in slots[1:]:
        if _clocks(slot.meta) != first:
            raise _differing("the batch, the clock or a watermark")


def _clocks(meta: SlotMeta) -> SlotMeta:
    return msgspec.structs.replace(meta, tables=[], broadcast={})


def _broadcast_hashes(slots: Sequence[SlotState]) -> dict[str, int]:
    """What slots know of broadcast state; a slot beyond its operator's parallelism knows nothing."""
    found: dict[str, int] = {}
    for slot in slots:
        for uid, hashed in slot.meta.broadcast.items():
            if found.setdefault(uid, hashed) != hashed:
                raise _differing(f"the broadcast state of operator '{uid}'")
    return found


def _differing(about: str) -> CheckpointError:
    return CheckpointError(
        "SLOTS_DIFFER",
        f"The slots of a level disagree about {about}, which is equal in all slots of a committed batch: the checkpoint "
        "is damaged. Resume from an earlier one.",
    )


def _meta(meta: SlotMeta, tables: Iterable[Table]) -> SlotMeta:
    """A copy of a slot's clocks with other tables; nothing is shared with the original."""
    copy = msgspec.msgpack.decode(msgspec.msgpack.encode(_clocks(meta)), type=SlotMeta)
    copy.tables = [msgspec.structs.replace(t) for t in tables]
    return copy
