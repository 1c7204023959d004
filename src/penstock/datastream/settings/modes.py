"""Modes that a job can be set to."""

from __future__ import annotations

from enum import Enum

from penstock.errors import PlanError
from penstock.plan.graph import JobGraph


class RuntimeExecutionMode(Enum):
    """Whether a job runs as a stream or as a batch. AUTOMATIC: as a batch when all its sources are bounded."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2


def in_batch_mode(graph: JobGraph, mode: str) -> bool:
    """Whether a job runs in batch mode; it is refused when it should and has a source without an end."""
    endless = [node for node in graph.sources if not node.source.bounded]
    if mode == "BATCH" and endless:
        raise PlanError(
            "UNBOUNDED_IN_BATCH",
            f"execution.runtime-mode is BATCH, and source '{endless[0].name}' ({endless[0].line}) has no end. Batch mode needs "
            "all input before its first result: use a bounded source, or set the mode to STREAMING or AUTOMATIC.",
        )
    return mode == "BATCH" or (mode == "AUTOMATIC" and not endless)


class CheckpointingMode(Enum):
    """What a checkpoint promises. Jobs run exactly once in either mode."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """What becomes of a checkpoint when its job is cancelled or ends."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
