"""A savepoint written in one go, from slots that nobody changes meanwhile: of a test's harness, or of a job that does not run."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from penstock.connectors.file.system import absolute, file_system
from penstock.engine.program import Program
from penstock.engine.slot_meta import SlotMeta
from penstock.savepoints.clocks import saved_level
from penstock.savepoints.manifest import FORMAT, Manifest, SavedLevel
from penstock.savepoints.savepoint import Savepoint, publish
from penstock.savepoints.slot_writer import SlotPart, saved_operators, saved_sinks, saved_sources, write_slot


class SlotSnapshot(NamedTuple):
    """All of a slot; entries in the order of their keys."""

    level: int
    slot: int
    meta: SlotMeta
    entries: Iterable[tuple[bytes, bytes]]


class JobFacts(NamedTuple):
    """What a manifest says of a job beside its program and state."""

    job_id: str
    batch: int
    control: Any = None
    positions: Mapping[int, Any] = {}
    sinks: Mapping[str, Any] = {}
    ended: str = ""
    lineage: str = ""
    checkpoint: str = ""
    from_savepoint: str = ""
    spark: str = ""


def write_savepoint(path: str, program: Program, slots: Iterable[SlotSnapshot], facts: JobFacts) -> Savepoint:
    """Writes all slots one after the other, then publishes; what is there before the end is no savepoint."""
    path = absolute(path)
    system = file_system(path)
    parts: list[SlotPart] = []
    levels: dict[int, SavedLevel] = {}
    for snapshot in slots:
        name = f"{snapshot.level}-{snapshot.slot}.state"
        parts.append(write_slot(system, path, name, snapshot.meta, snapshot.entries, program.max_parallelism))
        level = levels.setdefault(snapshot.level, saved_level(snapshot.level, snapshot.meta))
        level.broadcast |= snapshot.meta.broadcast  # a slot beyond an operator's parallelism knows nothing of it
    manifest = Manifest(
        format=FORMAT,
        id=uuid.uuid4().hex,
        created=int(time.time() * 1000),
        penstock=_version(),
        spark=facts.spark,
        job_id=facts.job_id,
        job_name=program.name,
        batch=facts.batch,
        parallelism=program.parallelism,
        max_parallelism=program.max_parallelism,
        operators=saved_operators(program, parts),
        sources=saved_sources(program, facts.positions),
        sinks=saved_sinks(program, facts.sinks),
        levels=list(levels.values()),
        files=[part.file for part in parts if part.file.entries],
        control=facts.control,
        ended=facts.ended,
        lineage=facts.lineage,
        checkpoint=facts.checkpoint,
        from_savepoint=facts.from_savepoint,
    )
    return publish(path, manifest)


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:  # run from a folder or a zip
        return ""
