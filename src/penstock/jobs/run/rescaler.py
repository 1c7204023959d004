"""Checks the rescale policy of a running job at intervals, and rescales the job or logs what it would do."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.run.rescale_policy import Policy, decide, to_sample

_CHECK_INTERVAL = 10.0  # seconds


class Rescaler:
    """Applies the rescale policy to one job. `rescale` is called with the new parallelism and must return immediately."""

    def __init__(
        self,
        policy: Policy,
        entry: JobEntry,
        history: CheckpointHistory,
        log: Callable[[str], None],
        rescale: Callable[[int], object],
    ) -> None:
        self._policy = policy
        self._entry = entry
        self._history = history
        self._log = log
        self._rescale = rescale
        self._since = self._checked_at = time.monotonic()

    def check(self, now: float | None = None) -> None:
        """Checks the policy if the interval is over."""
        now = time.monotonic() if now is None else now
        if self._policy.mode == "off" or now - self._checked_at < _CHECK_INTERVAL:
            return
        self._checked_at = now
        completed = [c for c in self._history.latest(self._policy.batches) if c.status == "completed"]
        proposal = decide(self._policy, self._entry.parallelism, [to_sample(c) for c in completed], now - self._since)
        if proposal is None:
            return
        self._since = now  # the cool-down begins
        action = "would rescale" if self._policy.mode == "dry-run" else "rescales"
        self._log(
            f"job {self._entry.id}: the policy {action} it from {self._entry.parallelism} to {proposal.parallelism}: "
            f"{proposal.reason}"
        )
        if self._policy.mode == "on":
            self._rescale(proposal.parallelism)
