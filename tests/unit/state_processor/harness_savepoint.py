"""Savepoints of jobs in the harness, and jobs in the harness that start from a savepoint."""

from __future__ import annotations

from pathlib import Path

from penstock.engine.slots.rescale import SlotState
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.runtime.state.tables import StateTable
from penstock.savepoints import Savepoint, open_savepoint
from penstock.testing import Harness
from penstock.testing.local_engine import LocalJob


def job_of(harness: Harness) -> LocalJob:
    assert harness._running_pipeline is not None
    return harness._running_pipeline.job


def save(harness: Harness, folder: Path) -> Savepoint:
    """Writes the committed state of a harness, one file per slot."""
    return open_savepoint(harness.savepoint(folder))


def load(savepoint: Savepoint, harness: Harness) -> None:
    """Starts a new harness with the state of a savepoint (of one level and slot)."""
    tables: dict[tuple[str, str], StateTable] = {}
    entries: dict[bytes, bytes] = {}
    for operator in savepoint.manifest.operators:
        for s in operator.states:
            tables[operator.uid, s.name] = StateTable(len(tables) + 1, operator.uid, s.name, s.kind, s.schema)
    for block, flat in savepoint.blocks():
        prefix = tables[block.operator, block.state].number.to_bytes(2, "big")
        entries.update((prefix + k, v) for k, v in zip(flat[::2], flat[1::2], strict=True))
    assert harness._pipeline_run is not None  # starts it
    job_of(harness)._executor.open({(1, 0): SlotState(SlotMetadata(tables=list(tables.values())), entries)})
