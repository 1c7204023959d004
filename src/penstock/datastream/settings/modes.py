"""Enumerations of execution and checkpointing modes."""

from __future__ import annotations

from enum import Enum

from penstock.errors import PlanError
from penstock.plan.graph import JobGraph


class RuntimeExecutionMode(Enum):
    """The execution mode of a job. AUTOMATIC selects BATCH if all sources are bounded."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2


def in_batch_mode(graph: JobGraph, mode: str) -> bool:
    """Returns whether a job runs in batch mode. Raises PlanError for BATCH with an unbounded source."""
    unbounded = [node for node in graph.sources if not node.source.bounded]
    if mode == "BATCH" and unbounded:
        raise PlanError(
            "UNBOUNDED_IN_BATCH",
            f"execution.runtime-mode is BATCH, but source '{unbounded[0].name}' ({unbounded[0].line}) is unbounded. Use a bounded "
            "source, or set the mode to STREAMING or AUTOMATIC.",
        )
    return mode == "BATCH" or (mode == "AUTOMATIC" and not unbounded)


class CheckpointingMode(Enum):
    """The checkpointing mode. Jobs are exactly-once in both modes."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """Whether the checkpoint is deleted when its job is cancelled or ends."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
