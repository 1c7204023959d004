"""Sums over all batches of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from penstock.jobs.registry.batch_report import BatchReport

Key = TypeVar("Key", int, str)


class RunTotals(msgspec.Struct):
    """Sums over all batches of a run. Tables have the same keys as in `BatchReport`."""

    batches: int = 0
    last_batch: int = -1
    records: dict[str, int] = {}
    late: dict[str, int] = {}
    dead_letters: dict[str, int] = {}
    unread_dead_letters: dict[str, int] = {}
    skipped: dict[str, int] = {}
    records_read: dict[int, int] = {}
    records_written: dict[int, int] = {}

    def add(self, report: BatchReport) -> None:
        """Adds the counts of one more batch."""
        self.batches += report.batches
        self.last_batch = report.batch
        add_counts(self.records, report.records)
        add_counts(self.late, report.late)
        add_counts(self.dead_letters, report.dead_letters)
        add_counts(self.unread_dead_letters, report.unread_dead_letters)
        add_counts(self.skipped, report.skipped)
        add_counts(self.records_read, report.records_read)
        add_counts(self.records_written, report.records_written)


def add_counts(total: dict[Key, int], counts: Mapping[Key, int]) -> None:
    """Adds counts to a table of totals.

    >>> total = {"a": 1}
    >>> add_counts(total, {"a": 2, "b": 3})
    >>> total
    {'a': 3, 'b': 3}
    """
    for key, count in counts.items():
        total[key] = total.get(key, 0) + count
