"""Finds out why a job is slow or does not make progress, by the statistics of its checkpoints.

Each rule is a function from evidence to findings, with its thresholds as constants beside it. Problems that stop a job come before
problems that slow it down, and a cause comes before its consequences.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.jobs.diagnosis.event_time import held_watermark
from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.files import small_files
from penstock.jobs.diagnosis.finding import Finding
from penstock.jobs.diagnosis.functions import slow_function, slow_sink, slow_source
from penstock.jobs.diagnosis.load import backpressure, skewed_keys
from penstock.jobs.diagnosis.machine import overloaded_in_progress, overloaded_machine
from penstock.jobs.diagnosis.storage import lost_storage, short_interval, slow_storage, too_much_state
from penstock.jobs.diagnosis.workers import failing, stalled_worker
from penstock.jobs.registry.checkpoint_stats import CheckpointStats

Rule = Callable[[Evidence], list[Finding]]
STOPPING: tuple[Rule, ...] = (lost_storage, overloaded_in_progress, stalled_worker, failing)
SLOWING: tuple[Rule, ...] = (
    overloaded_machine,
    slow_function,
    slow_sink,
    slow_source,
    slow_storage,
    too_much_state,
    skewed_keys,
    short_interval,
)
FALLBACK: tuple[Rule, ...] = (backpressure,)  # only if no other rule explains the slowness
INDEPENDENT: tuple[Rule, ...] = (held_watermark, small_files)


class Diagnosis(msgspec.Struct, frozen=True):
    """The findings, the most likely cause first. An empty list means that no problem was found."""

    findings: list[Finding]
    checkpoints: int  # number of examined checkpoints
    enough: bool  # False: too few checkpoints to judge durations

    @property
    def cause(self) -> str:
        """The cause of the first finding, or `healthy`."""
        return self.findings[0].cause if self.findings else "healthy"


def diagnose(history: list[CheckpointStats], now: float, waits: str = "") -> Diagnosis:
    """Diagnoses a job by its checkpoint history. `waits` is what the job itself reports that it waits for.

    >>> diagnose([], 0.0).cause
    'healthy'
    """
    evidence = Evidence(history, now, waits)
    stopping = _apply(STOPPING, evidence)
    slowing = _apply(SLOWING, evidence) if evidence.enough else []
    slowing.sort(key=lambda finding: -finding.share)
    if not slowing and evidence.enough:
        slowing = _apply(FALLBACK, evidence)
    independent = _apply(INDEPENDENT, evidence) if evidence.enough else []
    return Diagnosis([*stopping, *slowing, *independent], len(evidence.completed), evidence.enough)


def _apply(rules: tuple[Rule, ...], evidence: Evidence) -> list[Finding]:
    return [finding for rule in rules for finding in rule(evidence)]
