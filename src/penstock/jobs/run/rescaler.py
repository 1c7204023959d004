"""Looks after a running job's parallelism: asks the rule now and then, and has the job rescaled, or says what it would do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from penstock.jobs.entry import JobEntry
from penstock.jobs.history import History
from penstock.jobs.rescaling import Policy, Proposal, decide, sample_of

_LOOK = 10.0  # seconds between two looks

Act = Callable[[JobEntry, Proposal], None]


class Rescaler:
    """One job's policy. Called by the thread that looks after the job's run."""

    def __init__(
        self, policy: Policy, entry: JobEntry, history: History, note: Callable[[str], None], act: Act | None = None
    ) -> None:
        self._policy = policy
        self._entry = entry
        self._history = history
        self._note = note
        self._act = act or start_rescaling
        self._since = self._looked = time.monotonic()

    def look(self, now: float | None = None) -> None:
        """Does nothing most of the time."""
        now = time.monotonic() if now is None else now
        if self._policy.mode == "off" or now - self._looked < _LOOK:
            return
        self._looked = now
        done = [c for c in self._history.latest(self._policy.batches) if c.status == "completed"]
        proposal = decide(self._policy, self._entry.parallelism, [sample_of(c) for c in done], now - self._since)
        if proposal is None:
            return
        self._since = now  # told or done once, then let alone for a while
        would = "would rescale" if self._policy.mode == "dry-run" else "rescales"
        self._note(
            f"job {self._entry.id}: the policy {would} it from {self._entry.parallelism} to {proposal.parallelism}: "
            f"{proposal.reason}"
        )
        if self._policy.mode == "on":
            self._act(self._entry, proposal)


def start_rescaling(entry: JobEntry, proposal: Proposal) -> None:
    """In a process of its own: the one that asks ends with the job."""
    command = [sys.executable, "-m", "penstock", "rescale", entry.id, "--parallelism", str(proposal.parallelism)]
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=open(entry.log, "ab") if entry.log else subprocess.DEVNULL,  # noqa: SIM115 - it goes to the process
        start_new_session=True,
    )
