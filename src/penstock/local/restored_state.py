"""Reads the state of a savepoint into memory, for the slots of a program."""

from __future__ import annotations

from penstock.engine.program.program import Program
from penstock.engine.slots.rescale import SlotState
from penstock.local.executor import SlotKey
from penstock.savepoints.evolution import value_migrations
from penstock.savepoints.loading import RestoreLayout, read_entries
from penstock.savepoints.matching import RestoreMatch
from penstock.savepoints.savepoint import Savepoint


def read_states(
    savepoint: Savepoint, program: Program, matched: RestoreMatch, now: int | None = None
) -> dict[SlotKey, SlotState]:
    """Returns the state of each slot. The savepoint may have another parallelism, and types of state may have changed.

    `now` is the processing time, which entries that did not expire before get if they do now.
    """
    now = matched.clocks.now if now is None else max(now, matched.clocks.now)
    migrations = value_migrations(matched.state_changes, max(now, 0))
    states = {}
    for level, slot, plan in RestoreLayout(savepoint, program, matched).plans():
        flats = read_entries(plan, migrations, matched.key_changes, now)
        entries = {k: v for flat in flats for k, v in zip(flat[::2], flat[1::2], strict=True)}
        states[level, slot] = SlotState(plan.meta, entries)
    return states
