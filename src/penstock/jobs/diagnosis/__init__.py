"""Reads the numbers of a job's checkpoints as an experienced operator would: what is wrong, by which evidence, what to do.

Every rule is a function from the evidence to findings; thresholds are named beside them. What stops a job comes before what
slows it, and a cause before its consequence.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.jobs.checkpoints import Checkpoint
from penstock.jobs.diagnosis.event_time import held_watermark
from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.files import small_files
from penstock.jobs.diagnosis.finding import Finding
from penstock.jobs.diagnosis.functions import slow_function, slow_sink, slow_source
from penstock.jobs.diagnosis.load import backpressure, skewed_keys
from penstock.jobs.diagnosis.storage import lost_storage, short_interval, slow_storage, too_much_state
from penstock.jobs.diagnosis.workers import failing, stalled_worker

Rule = Callable[[Evidence], list[Finding]]
STOPPING: tuple[Rule, ...] = (lost_storage, stalled_worker, failing)
SLOWING: tuple[Rule, ...] = (
    slow_function,
    slow_sink,
    slow_source,
    slow_storage,
    too_much_state,
    skewed_keys,
    short_interval,
)
IF_NOTHING_ELSE: tuple[Rule, ...] = (backpressure,)
BESIDE: tuple[Rule, ...] = (held_watermark, small_files)


class Diagnosis(msgspec.Struct, frozen=True):
    """What the numbers say: the likeliest cause first. No findings: nothing is wrong, as far as the numbers go."""

    findings: list[Finding]
    checkpoints: int  # that were looked at
    enough: bool  # False: too few to say how long things take

    @property
    def cause(self) -> str:
        """The first finding's name; `healthy` without one."""
        return self.findings[0].cause if self.findings else "healthy"


def diagnose(history: list[Checkpoint], now: float, waits: str = "") -> Diagnosis:
    """What is wrong with a job, by the history of its checkpoints and what it says that it waits for.

    >>> diagnose([], 0.0).cause
    'healthy'
    """
    evidence = Evidence(history, now, waits)
    stopping = [found for rule in STOPPING for found in rule(evidence)]
    slowing = [found for rule in SLOWING for found in rule(evidence)] if evidence.enough else []
    slowing.sort(key=lambda f: -f.share)
    if not slowing and evidence.enough:
        slowing = [found for rule in IF_NOTHING_ELSE for found in rule(evidence)]
    beside = [found for rule in BESIDE for found in rule(evidence)] if evidence.enough else []
    return Diagnosis([*stopping, *slowing, *beside], len(evidence.completed), evidence.enough)
