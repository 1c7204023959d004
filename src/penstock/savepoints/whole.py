"""A savepoint written in one go, from slots that nobody changes meanwhile: of a test's harness, or of a job that does not run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.connectors.file.system import absolute, file_system
from penstock.engine.slot_meta import SlotMeta
from penstock.savepoints.collected import manifest_of
from penstock.savepoints.part import Scan, SlotPlace, write_file
from penstock.savepoints.saved_job import JobFacts, SavedJob
from penstock.savepoints.savepoint import Savepoint, publish


class SlotSnapshot(NamedTuple):
    """All of a slot."""

    level: int
    slot: int
    meta: SlotMeta
    scan: Scan


def write_savepoint(path: str, job: SavedJob, slots: Iterable[SlotSnapshot], facts: JobFacts) -> Savepoint:
    """Writes all slots one after the other, then publishes; what is there before the end is no savepoint."""
    path = absolute(path)
    system, widths = file_system(path), job.widths()
    parts = [
        write_file(
            system,
            path,
            f"{snapshot.level}-{snapshot.slot}.state",
            SlotPlace(snapshot.level, snapshot.slot, widths, job.max_parallelism),
            snapshot.meta,
            snapshot.scan,
        )
        for snapshot in slots
    ]
    return publish(path, manifest_of(job, parts, facts))
