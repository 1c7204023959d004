"""Savepoints of jobs that run in the harness, and back: what Spark's jobs write, without Spark."""

from __future__ import annotations

from pathlib import Path

from penstock.engine.rescale import SlotState
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.state.backend import Table
from penstock.savepoints import Savepoint, open_savepoint
from penstock.testing import Harness
from penstock.testing.local import LocalJob


def job_of(harness: Harness) -> LocalJob:
    assert harness._now_running is not None
    return harness._now_running.job


def save(harness: Harness, folder: Path) -> Savepoint:
    """All committed state of a harness, a file per slot."""
    return open_savepoint(harness.savepoint(folder))


def load(savepoint: Savepoint, harness: Harness) -> None:
    """Lets a harness that has run nothing start with a savepoint's state (of one level and slot)."""
    tables: dict[tuple[str, str], Table] = {}
    entries: dict[bytes, bytes] = {}
    for operator in savepoint.manifest.operators:
        for s in operator.states:
            tables[operator.uid, s.name] = Table(len(tables) + 1, operator.uid, s.name, s.kind, s.schema)
    for block, flat in savepoint.blocks():
        prefix = tables[block.operator, block.state].number.to_bytes(2, "big")
        entries.update((prefix + k, v) for k, v in zip(flat[::2], flat[1::2], strict=True))
    assert harness._running is not None  # starts it
    job_of(harness)._open(1, 0, SlotState(SlotMeta(tables=list(tables.values())), entries))
