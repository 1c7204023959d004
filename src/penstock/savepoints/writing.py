"""What all slots' parts of a savepoint say together: its manifest."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

import penstock
from penstock.engine.slot_meta import SlotMeta
from penstock.savepoints.clocks import saved_level
from penstock.savepoints.manifest import FORMAT, Manifest, SavedLevel, SavedOperator, SavedState
from penstock.savepoints.part import Part
from penstock.savepoints.saved_job import JobFacts, SavedJob


def manifest_of(job: SavedJob, parts: Sequence[Part], facts: JobFacts) -> Manifest:
    """The manifest of a savepoint whose parts are written."""
    return Manifest(
        format=FORMAT,
        id=facts.savepoint_id(),
        created=int(time.time() * 1000),
        penstock=penstock.__version__,
        spark=facts.spark,
        job_id=facts.job_id,
        job_name=job.name,
        batch=facts.batch,
        parallelism=job.parallelism,
        max_parallelism=job.max_parallelism,
        operators=with_states(job.operators, parts),
        sources=job.sources,
        sinks=job.sinks,
        levels=levels_of(parts),
        files=[part.file for part in parts],
        control=facts.control,
        ended=facts.ended,
        lineage=facts.lineage,
        checkpoint=facts.checkpoint,
        from_savepoint=facts.from_savepoint,
        notes=dict(facts.notes),
    )


def with_states(described: Sequence[SavedOperator], parts: Sequence[Part]) -> list[SavedOperator]:
    """The operators of a job with their states, in all slots together."""
    operators = {o.uid: o for o in described}
    states: dict[tuple[str, str], SavedState] = {}
    for part in parts:
        for told in part.states:
            state = told.state
            found = states.get((told.operator, state.name))
            if found is None:
                states[told.operator, state.name] = state
                operators[told.operator].states.append(state)
            else:
                found.entries += state.entries
                found.size += state.size
    return list(operators.values())


def levels_of(parts: Sequence[Part]) -> list[SavedLevel]:
    """The clocks of each level, which are equal in all of its slots."""
    levels: dict[int, SavedLevel] = {}
    for part in sorted(parts, key=lambda p: (p.level, p.slot)):
        meta = msgspec.json.decode(part.meta, type=SlotMeta)
        level = levels.setdefault(part.level, saved_level(part.level, meta))
        level.broadcast |= meta.broadcast  # a slot beyond an operator's parallelism knows nothing of it
    return list(levels.values())
