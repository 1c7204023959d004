"""Diagnoses a job by its checkpoint history."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from penstock.jobs.diagnosis import Diagnosis, diagnose
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import Registry


class JobDiagnosis(msgspec.Struct, frozen=True):
    """The diagnosis of one job."""

    job_id: str
    diagnosis: Diagnosis
    at: float  # seconds since 1970; for a job that has ended, its end

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON values, as `penstock diagnose --json` prints it."""
        return {"job": self.job_id, "cause": self.diagnosis.cause, **msgspec.to_builtins(self.diagnosis)}


def diagnose_job(registry: Registry, entry: JobEntry) -> JobDiagnosis:
    """Finds out why a job is slow or does not make progress."""
    history = CheckpointHistory(registry.job_folder(entry.id)).latest()
    at = entry.ended or entry.updated if entry.is_over else time.time()
    return JobDiagnosis(entry.id, diagnose(history, at, entry.waits), at)
