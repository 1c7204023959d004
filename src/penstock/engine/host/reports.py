"""Figures that slots report at the end of a batch, and the checks before the batch is committed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from penstock.engine.slots.hot_keys import HotKeys
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import ChunkProgress, SlotReport
from penstock.errors import StateError, UnreadDeadLetters
from penstock.runtime.state.cell import SlotCell
from penstock.runtime.state.keys import key_hash
from penstock.runtime.state.store import Store
from penstock.runtime.state.tables import StateTables


@dataclass(slots=True)
class BatchFigures:
    """What a slot measures in one batch, by operator uid."""

    records: dict[str, int] = field(default_factory=dict)  # elements received
    late: dict[str, int] = field(default_factory=dict)  # late elements that were dropped
    flows: dict[str, tuple[int, int]] = field(default_factory=dict)  # elements in and out, also by chained step
    operator_seconds: dict[str, float] = field(default_factory=dict)  # also by chained step
    state_changes: dict[str, tuple[int, int]] = field(default_factory=dict)  # entries and bytes
    hot_keys: dict[str, HotKeys] = field(default_factory=dict)
    wake_ups: list[int] = field(default_factory=list)  # times at which a batch is needed even without data
    aligned_progress: list[ChunkProgress] = field(default_factory=list)  # of watermark generators of aligned streams


def add_flows(total: dict[str, tuple[int, int]], flows: Mapping[str, tuple[int, int]]) -> None:
    """Adds elements in and out, by operator.

    >>> total = {"a": (1, 1)}
    >>> add_flows(total, {"a": (2, 0), "b": (3, 3)})
    >>> total
    {'a': (3, 1), 'b': (3, 3)}
    """
    for uid, (entered, left) in flows.items():
        before = total.get(uid, (0, 0))
        total[uid] = before[0] + entered, before[1] + left


def sum_dead_letters(counts: Iterable[tuple[str, int, int]]) -> dict[str, tuple[int, int]]:
    """Dead letters by operator: how many were produced, and how many of them no step reads.

    >>> sum_dead_letters([("a", 2, 0), ("a", 1, 0), ("b", 3, 3)])
    {'a': (3, 0), 'b': (3, 3)}
    """
    total: dict[str, tuple[int, int]] = {}
    for uid, produced, unread in counts:
        add_flows(total, {uid: (produced, unread)})
    return total


def hash_broadcast_changes(uid: str, tables: StateTables, store: Store, meta: SlotMetadata) -> None:
    """Adds the changes of a batch to the hash of an operator's broadcast state.

    All slots must change broadcast state in the same way (time-rules 6.2). The driver compares the hashes when it commits.
    """
    names = {t.number.to_bytes(2, "big"): t.name.encode() for t in tables.all() if t.operator == uid}
    changes = [
        (names[key[:2]], key[4:], value)
        for key, value in store.pending_changes().items()
        if key[2:4] == SlotCell.GROUP and key[:2] in names
    ]
    if changes:
        changes.sort(key=lambda c: c[:2])
        meta.broadcast[uid] = key_hash(msgspec.msgpack.encode((meta.broadcast.get(uid, 0), changes)))


def check_broadcast_state(reports: Iterable[SlotReport]) -> None:
    """Raises if the slots have different copies of broadcast state (time-rules 6.2)."""
    hashes: dict[str, int] = {}
    for report in reports:
        for uid, state_hash in report.broadcast_hashes.items():
            if hashes.setdefault(uid, state_hash) != state_hash:
                raise StateError(
                    "BROADCAST_DIFFERS",
                    f"The subtasks of operator '{uid}' changed their copies of broadcast state in different ways. "
                    "process_broadcast_element must do the same in every subtask. Do not use the subtask index, the clock or "
                    "random numbers in it.",
                )


def warn_unread_dead_letters(unread: Iterable[str], warned: set[str]) -> None:
    """Warns once for each operator whose dead letters no step reads."""
    for uid in unread:
        if uid not in warned:
            warned.add(uid)
            warnings.warn(
                f"Operator '{uid}' produces dead letters that nobody reads. Call get_side_output(DEAD_LETTERS) on its stream "
                "to read them. The job's reports count them.",
                UnreadDeadLetters,
                stacklevel=2,
            )
