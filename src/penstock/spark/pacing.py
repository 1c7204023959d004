"""How long a job rests between two batches: at least so long, or so long that checkpoints take no more than a share of the time."""

from __future__ import annotations

from collections import deque
from statistics import median

from penstock.config import CHECKPOINT_PAUSE, CHECKPOINT_SHARE, Configuration
from penstock.jobs.checkpoints import Checkpoint

_LOOKED_AT = 5  # checkpoints
_WARMING_UP = 2  # checkpoints of an attempt, while workers start


class Pacing:
    """Decides from the last checkpoints."""

    def __init__(self, configuration: Configuration) -> None:
        self._least: float = configuration.get(CHECKPOINT_PAUSE) / 1000
        self._share: float | None = configuration.get(CHECKPOINT_SHARE)
        self._pauses: deque[float] = deque(maxlen=_LOOKED_AT)
        self._seen = 0

    @property
    def wanted(self) -> bool:
        """Whether there is anything to decide."""
        return bool(self._least or self._share)

    @property
    def pause(self) -> float:
        """Seconds from the end of a batch to the next one's beginning."""
        return round(max(self._least, median(self._pauses) if self._pauses else 0.0), 3)

    def took(self, checkpoint: Checkpoint) -> float:
        """Takes in how long a checkpoint took; gives the pause after the next ones.

        With a share of 0.2, a checkpoint that costs 1 s beside its work may come every 5 s; what its work takes counts.
        """
        self._seen += 1
        if self._share and self._seen > _WARMING_UP:
            self._pauses.append(max(0.0, checkpoint.overhead / self._share - checkpoint.seconds))
        return self.pause
