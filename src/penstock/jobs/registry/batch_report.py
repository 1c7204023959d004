"""The report of one committed batch: what the driver collects from all its tasks."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class RecordCounts(NamedTuple):
    """Elements that entered and left one source, step, operator or sink."""

    records_in: int = 0
    records_out: int = 0


_JSON_NAMES = {
    "ended_at": "ended",
    "processing_time": "now",
    "next_wakeup": "wake",
    "dead_letters": "dead",
    "unread_dead_letters": "unread",
    "records_read": "read",
    "records_written": "outputs",
}


class BatchReport(msgspec.Struct, rename=_JSON_NAMES):
    """The report of one batch. Tables are keyed by the uid of an operator unless a comment says otherwise."""

    batch: int
    ended_at: float = 0.0  # seconds since 1970
    processing_time: int = 0  # the clock of the batch, in milliseconds since 1970
    next_wakeup: int | None = None  # when a timer or a sink needs another batch, in milliseconds since 1970
    watermarks: dict[str, int] = {}
    records: dict[str, int] = {}  # elements that entered operators
    late: dict[str, int] = {}
    flows: dict[str, RecordCounts] = {}  # of sources, steps and sinks too
    dead_letters: dict[str, int] = {}
    unread_dead_letters: dict[str, int] = {}  # dead letters whose side output has no reader
    skipped: dict[str, int] = {}  # by the uid of a source: records that cannot be decoded and were dropped
    records_read: dict[int, int] = {}  # by the number of a source
    records_written: dict[int, int] = {}  # by the number of a sink
    state_bytes: int = 0  # of all keys and values
    state_log_bytes: int = 0  # deltas that are not compacted yet
    delta_bytes: int = 0  # written by this batch
    seconds: dict[str, float] = {}  # of all tasks together, by "map" or by "level <n> <step>"
    batches: int = 1  # the report is the sum of this many batches; `batch` is the last of them

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values, under the names that `JobExecutionResult.batches` and `--json` have."""
        result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return result
