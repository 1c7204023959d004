"""How many checkpoints in a row may fail because of their store, before that is a failure of the job."""

from __future__ import annotations

from penstock.config import CHECKPOINT_FAILURES, Configuration
from penstock.errors import JobError


class Tolerance:
    """Counts failures since the last batch that was committed.

    >>> tolerance = Tolerance(Configuration({"execution.checkpointing.tolerable-failed-checkpoints": 1}))
    >>> [tolerance.tolerates(last_batch) for last_batch in (7, 7, 8, 8)]
    [True, False, True, False]
    """

    def __init__(self, configuration: Configuration) -> None:
        asked = configuration.is_set(CHECKPOINT_FAILURES)
        self._most: int | None = configuration.get(CHECKPOINT_FAILURES) if asked else None  # none: any number
        self._failed = 0
        self._after: int | None = None

    def tolerates(self, last_batch: int) -> bool:
        """One more checkpoint has failed after this batch: whether the job may go on as if nothing had been."""
        if last_batch != self._after:
            self._after, self._failed = last_batch, 0
        self._failed += 1
        return self._most is None or self._failed <= self._most

    def exceeded(self, trouble: str) -> JobError:
        """What the job fails with then; its restart strategy is asked."""
        return JobError(
            "CHECKPOINTS_FAILED",
            f"{self._failed} checkpoints in a row failed because of their store, and "
            f"execution.checkpointing.tolerable-failed-checkpoints allows {self._most}: {trouble}. The batch was not committed and "
            "nothing is lost: mend the store and resume the job.",
        )
