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
from penstock.savepoints.evolution import saved_key_types
from penstock.savepoints.manifest import FORMAT, Manifest, SavedLevel, SavedOperator, SavedSink, SavedSource
from penstock.savepoints.matching import source_kind
from penstock.savepoints.savepoint import Savepoint, publish
from penstock.savepoints.slot_writer import SlotPart, with_states, write_slot


class SlotSnapshot(NamedTuple):
    """All of a slot; entries in the order of their keys."""

    level: int
    slot: int
    meta: SlotMeta
    entries: Iterable[tuple[bytes, bytes]]


class SavedJob(NamedTuple):
    """A job as a manifest tells of it; states are added from what is written."""

    name: str
    parallelism: int
    max_parallelism: int
    operators: list[SavedOperator]
    sources: list[SavedSource]
    sinks: list[SavedSink]


class JobFacts(NamedTuple):
    """What a manifest says of a job beside its program and state."""

    job_id: str
    batch: int
    control: Any = None
    ended: str = ""
    lineage: str = ""
    checkpoint: str = ""
    from_savepoint: str = ""
    spark: str = ""


def saved_operators(program: Program) -> list[SavedOperator]:
    """A job's operators, with the types of their keys and without their states."""
    keys = saved_key_types(program)
    return [
        SavedOperator(
            o.uid,
            o.name,
            o.spec.kind,
            o.spec.keyed,
            o.parallelism,
            key_type=keys.get(o.uid),
            given_uid=o.named,
        )
        for o in program.operators
    ]


def saved_job(program: Program, positions: Mapping[int, Any]) -> SavedJob:
    """A job with how far its sources were read, by number."""
    return SavedJob(
        program.name,
        program.parallelism,
        program.max_parallelism,
        saved_operators(program),
        [SavedSource(s.uid, s.name, source_kind(s.source), s.number, positions.get(s.number)) for s in program.sources],
        [
            SavedSink(uid, name, type(sink).__name__)
            for uid, name, sink in zip(program.sink_uids, program.sink_names, program.sinks, strict=True)
        ],
    )


def write_savepoint(path: str, job: SavedJob, slots: Iterable[SlotSnapshot], facts: JobFacts) -> Savepoint:
    """Writes all slots one after the other, then publishes; what is there before the end is no savepoint."""
    path = absolute(path)
    system = file_system(path)
    parts: list[SlotPart] = []
    levels: dict[int, SavedLevel] = {}
    for snapshot in slots:
        name = f"{snapshot.level}-{snapshot.slot}.state"
        parts.append(write_slot(system, path, name, snapshot.meta, snapshot.entries, job.max_parallelism))
        level = levels.setdefault(snapshot.level, saved_level(snapshot.level, snapshot.meta))
        level.broadcast |= snapshot.meta.broadcast  # a slot beyond an operator's parallelism knows nothing of it
    manifest = Manifest(
        format=FORMAT,
        id=uuid.uuid4().hex,
        created=int(time.time() * 1000),
        penstock=_version(),
        spark=facts.spark,
        job_id=facts.job_id,
        job_name=job.name,
        batch=facts.batch,
        parallelism=job.parallelism,
        max_parallelism=job.max_parallelism,
        operators=with_states(job.operators, parts),
        sources=job.sources,
        sinks=job.sinks,
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
