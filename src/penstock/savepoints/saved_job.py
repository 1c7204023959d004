"""The description of a job in the manifest of a savepoint, without its state."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.engine.program.program import Program
from penstock.runtime.relational.evolution.meaning import OperatorMeaning
from penstock.savepoints.evolution import saved_key_types
from penstock.savepoints.manifest import SavedOperator, SavedSink, SavedSource
from penstock.savepoints.parts import source_kind
from penstock.savepoints.queries.readers import source_readers


class SavedJob(NamedTuple):
    """The parts of a job. The states of operators are added when their files are written."""

    name: str
    parallelism: int
    max_parallelism: int
    operators: list[SavedOperator]
    sources: list[SavedSource]
    sinks: list[SavedSink]

    def widths(self) -> dict[str, int]:
        """The parallelism of each operator, by uid."""
        return {o.uid: o.parallelism for o in self.operators}


class SavepointInfo(NamedTuple):
    """Facts about a savepoint and the run that it was taken from."""

    job_id: str
    batch: int
    control: Any = None
    ended: str = ""
    lineage: str = ""
    checkpoint: str = ""
    from_savepoint: str = ""
    spark: str = ""
    id: str = ""  # of the savepoint; empty: a new one is generated
    notes: Mapping[str, str] = {}

    def savepoint_id(self) -> str:
        return self.id or uuid.uuid4().hex


def saved_operators(program: Program) -> list[SavedOperator]:
    """The operators of a job with their key types, without states."""
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
            relation=saved_relation(o.spec),
        )
        for o in program.operators
    ]


def saved_relation(spec: Any) -> Any:
    """What an operator of a query means, as plain data; None for other operators."""
    meaning = getattr(spec, "meaning", None)
    return meaning.to_builtins() if isinstance(meaning, OperatorMeaning) else None


def describe_job(program: Program, positions: Mapping[int, Any]) -> SavedJob:
    """The description of a job. `positions` are those of its sources, by number."""
    readers = source_readers(program)
    return SavedJob(
        program.name,
        program.parallelism,
        program.max_parallelism,
        saved_operators(program),
        [
            SavedSource(s.uid, s.name, source_kind(s.source), s.number, positions.get(s.number), readers[s.uid])
            for s in program.sources
        ],
        [
            SavedSink(uid, name, type(sink).__name__)
            for uid, name, sink in zip(program.sink_uids, program.sink_names, program.sinks, strict=True)
        ],
    )
