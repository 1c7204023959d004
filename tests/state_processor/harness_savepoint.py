"""Savepoints of jobs that run in the harness, and back: what Spark's jobs write, without Spark."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock.connectors.file.system import file_system
from penstock.engine.rescale import SlotState
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.state.backend import Table
from penstock.savepoints import SavedOperator, Savepoint, StateFileWriter, publish
from penstock.savepoints.evolution import saved_state
from penstock.state_processor.blocks import StateBlocks
from penstock.state_processor.writer import _new_manifest
from penstock.testing import Harness
from penstock.testing.local import LocalJob


def job_of(harness: Harness) -> LocalJob:
    assert harness._now_running is not None
    return harness._now_running.job


def save(harness: Harness, folder: Path) -> Savepoint:
    """All committed state of a harness, a file per slot."""
    job = job_of(harness)
    width = job.program.max_parallelism
    files, tables = [], {}
    for (level, slot), state in job.states().items():
        writer = StateFileWriter(file_system(str(folder)), str(folder), f"{level}-{slot}")
        blocks = StateBlocks(width)
        for table in state.meta.tables:
            tables[table.operator, table.name] = table
            prefix = table.number.to_bytes(2, "big")
            flat = [p for k, v in sorted(state.entries.items()) if k[:2] == prefix for p in (k[2:], v)]
            blocks.write(writer, table.operator, saved_state(table), flat)
        files.append(writer.close())
    operators = [
        SavedOperator(
            o.uid,
            o.name,
            o.spec.kind,
            o.spec.keyed,
            o.parallelism,
            [saved_state(t) for t in tables.values() if t.operator == o.uid],
        )
        for o in job.program.operators
    ]
    manifest = msgspec.structs.replace(_new_manifest(width), operators=operators, files=files)
    return publish(str(folder), manifest)


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
