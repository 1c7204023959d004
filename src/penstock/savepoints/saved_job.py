"""A job as a savepoint's manifest tells of it, beside its state."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.engine.program import Program
from penstock.savepoints.evolution import saved_key_types
from penstock.savepoints.manifest import SavedOperator, SavedSink, SavedSource
from penstock.savepoints.matching import source_kind


class SavedJob(NamedTuple):
    """What a job is made of; states are added from what is written."""

    name: str
    parallelism: int
    max_parallelism: int
    operators: list[SavedOperator]
    sources: list[SavedSource]
    sinks: list[SavedSink]

    def widths(self) -> dict[str, int]:
        """Over how many slots each operator is spread."""
        return {o.uid: o.parallelism for o in self.operators}


class JobFacts(NamedTuple):
    """What is told of the run that the savepoint is of, and of the savepoint itself."""

    job_id: str
    batch: int
    control: Any = None
    ended: str = ""
    lineage: str = ""
    checkpoint: str = ""
    from_savepoint: str = ""
    spark: str = ""
    id: str = ""  # of the savepoint; a new one is made when there is none
    notes: Mapping[str, str] = {}

    def savepoint_id(self) -> str:
        return self.id or uuid.uuid4().hex


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
