"""The pause between two batches: a minimum, or long enough to limit the share of time that checkpoints take."""

from __future__ import annotations

from collections import deque
from statistics import median

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_PAUSE, CHECKPOINT_SHARE
from penstock.jobs.registry.checkpoint_stats import CheckpointStats

_WINDOW = 5  # checkpoints that the pause is computed from
_WARM_UP = 2  # first checkpoints, which include the start of workers


class Pacing:
    """Computes the pause from the last checkpoints."""

    def __init__(self, configuration: Configuration) -> None:
        self._min_pause: float = configuration.get(CHECKPOINT_PAUSE) / 1000
        self._max_share: float | None = configuration.get(CHECKPOINT_SHARE)
        self._pauses: deque[float] = deque(maxlen=_WINDOW)
        self._count = 0

    @property
    def enabled(self) -> bool:
        """Whether the configuration sets a minimum pause or a maximum share."""
        return bool(self._min_pause or self._max_share)

    @property
    def pause(self) -> float:
        """Seconds from the end of a batch to the start of the next one."""
        return round(max(self._min_pause, median(self._pauses) if self._pauses else 0.0), 3)

    def add(self, checkpoint: CheckpointStats) -> float:
        """Adds a completed checkpoint and returns the pause after the next ones.

        With a share of 0.2, checkpoints with an overhead of 1 s may start every 5 s. The processing time of the batch counts as
        part of the 5 s.
        """
        self._count += 1
        if self._max_share and self._count > _WARM_UP:
            self._pauses.append(max(0.0, checkpoint.overhead / self._max_share - checkpoint.seconds))
        return self.pause
