"""Sends changes of tables to the slots of a relational operator."""

from __future__ import annotations

import numpy as np

from penstock.engine.chain.flow import Flow
from penstock.engine.chain.senders import add_rows
from penstock.engine.program.steps import SendStep
from penstock.engine.program.subtask_context import ChunkPosition, SubtaskContext
from penstock.engine.slots.entry_groups import slot_of_group
from penstock.engine.wire.body import pack_body
from penstock.engine.wire.frames import Bundles
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.records import Column
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.keys import key_hashes


class ChangeSender:
    """Sends rows to the slots of their keys. The key of each group of rows is hashed once."""

    def __init__(self, step: SendStep, subtask: SubtaskContext) -> None:
        self._step = step
        self._key: ColumnKey = step.selector
        self._partitions = subtask.batch_partitions
        groups = range(subtask.max_parallelism)
        self._slots = np.array([slot_of_group(g, step.parallelism, subtask.max_parallelism) for g in groups], np.int64)
        self.site = CallSite(step.name, step.uid)

    def send(self, flow: Flow, chunk: ChunkPosition, out: Bundles) -> tuple[Flow, ...]:
        """Packs rows by slot. No row is rejected, so there are no dead letters."""
        changes: Changes = flow.values
        tags, timestamps = flow.tags(), flow.timestamps()
        slots = self._slots_of(changes)
        used = np.unique(slots).tolist()
        for slot in used:
            if len(used) == 1:
                rows, slot_tags, slot_timestamps = changes, tags, timestamps
            else:
                picked = np.flatnonzero(slots == slot)
                rows, slot_tags, slot_timestamps = changes.take(picked), tags.take(picked), timestamps[picked]
            add_rows(self._step, chunk, slot, slot_timestamps, slot_tags, pack_body(None, rows), out)
        return ()

    def _slots_of(self, changes: Changes) -> Column:
        """The slot of each row; in batch mode its address."""
        groups, keys = self._key.groups(changes)
        hashes = key_hashes(keys)
        slots = self._slots[(hashes % np.uint64(len(self._slots))).astype(np.int64)]
        if self._partitions is not None:
            address = self._partitions.key_address
            slots = np.array([address(s, h) for s, h in zip(slots.tolist(), hashes.tolist(), strict=True)], np.int64)
        return slots[groups.codes]
