"""Changes how many records of each source a running job reads into a batch."""

from __future__ import annotations

import msgspec

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.requests import request_limit


class RecordLimit(msgspec.Struct, frozen=True):
    """The limit that a job was asked to apply."""

    job_id: str
    records: int


def limit_records(registry: Registry, entry: JobEntry, records: int) -> RecordLimit:
    """Limits the batches of a running job to `records` records per source, from the next batch on. Returns immediately.

    The limit ends with the run. A new run starts with the options of the job.
    """
    request_limit(registry, entry, records)
    return RecordLimit(entry.id, records)
