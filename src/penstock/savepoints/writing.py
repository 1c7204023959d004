"""Writes a savepoint from the slots of a job, and builds its manifest."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

import penstock
from penstock.connectors.file.system.file_system import absolute_path, file_system
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.savepoints.clocks import saved_level
from penstock.savepoints.manifest import FORMAT, Manifest, SavedLevel, SavedOperator, SavedState, SinkFile
from penstock.savepoints.saved_job import SavedJob, SavepointInfo
from penstock.savepoints.savepoint import Savepoint, publish
from penstock.savepoints.slot_part import SavepointPart, Scan, SlotAssignment, write_entries


def build_manifest(job: SavedJob, parts: Sequence[SavepointPart], info: SavepointInfo) -> Manifest:
    """The manifest of a savepoint whose state files are written."""
    return Manifest(
        format=FORMAT,
        id=info.savepoint_id(),
        created=int(time.time() * 1000),
        penstock=penstock.__version__,
        spark=info.spark,
        job_id=info.job_id,
        job_name=job.name,
        batch=info.batch,
        parallelism=job.parallelism,
        max_parallelism=job.max_parallelism,
        operators=operators_with_states(job.operators, parts),
        sources=job.sources,
        sinks=job.sinks,
        levels=merge_levels(parts),
        files=[part.file for part in parts],
        control=info.control,
        ended=info.ended,
        lineage=info.lineage,
        checkpoint=info.checkpoint,
        from_savepoint=info.from_savepoint,
        notes=dict(info.notes),
    )


def operators_with_states(described: Sequence[SavedOperator], parts: Sequence[SavepointPart]) -> list[SavedOperator]:
    """The operators of a job with their states, summed over all slots."""
    operators = {o.uid: o for o in described}
    states: dict[tuple[str, str], SavedState] = {}
    for part in parts:
        for part_state in part.states:
            operator, state = part_state.operator, part_state.state
            total = states.get((operator, state.name))
            if total is None:
                states[operator, state.name] = state
                operators[operator].states.append(state)
            else:
                total.entries += state.entries
                total.size += state.size
    return list(operators.values())


def merge_levels(parts: Sequence[SavepointPart]) -> list[SavedLevel]:
    """The clocks of each level, which are the same in all its slots."""
    levels: dict[int, SavedLevel] = {}
    for part in sorted(parts, key=lambda p: (p.level, p.slot)):
        meta = msgspec.json.decode(part.meta, type=SlotMetadata)
        level = levels.setdefault(part.level, saved_level(part.level, meta))
        level.broadcast |= meta.broadcast  # slots beyond the parallelism of an operator have no broadcast state of it
    return list(levels.values())


class SlotContents(NamedTuple):
    """The metadata and entries of a slot that does not change while it is written."""

    level: int
    slot: int
    meta: SlotMetadata
    scan: Scan


def write_savepoint(
    path: str,
    job: SavedJob,
    slots: Iterable[SlotContents],
    info: SavepointInfo,
    sink_files: Sequence[SinkFile] = (),
) -> Savepoint:
    """Writes all slots, then publishes the manifest. Until then the folder is not a savepoint.

    `sink_files` are the files that sinks have added to the folder.
    """
    path = absolute_path(path)
    system, widths = file_system(path), job.widths()
    parts = [
        write_entries(
            system,
            path,
            f"{contents.level}-{contents.slot}.state",
            SlotAssignment(contents.level, contents.slot, widths, job.max_parallelism),
            contents.meta,
            contents.scan,
        )
        for contents in slots
    ]
    manifest = build_manifest(job, parts, info)
    manifest.sink_files = list(sink_files)
    return publish(path, manifest)
