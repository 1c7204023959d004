"""Modes that a job can be set to."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """Whether a job runs as a stream or as a batch. AUTOMATIC means STREAMING in this version."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2


class CheckpointingMode(Enum):
    """What a checkpoint promises. Jobs run exactly once in either mode."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """What becomes of a checkpoint when its job is cancelled or ends."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
