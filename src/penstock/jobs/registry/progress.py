"""The progress of a job: totals and rates per operator."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.metrics.labels import operator_labels

SOURCE, SINK = "source", "sink"  # kinds of operators


class OperatorProgress(msgspec.Struct):
    """The totals and rates of one operator."""

    uid: str
    name: str
    kind: str
    records_in: int = 0
    records_out: int = 0
    in_rate: float = 0.0  # elements per second, over the last batches
    out_rate: float = 0.0
    late: int = 0
    watermark: int | None = None
    dead: int = 0  # dead letters
    skipped: int = 0  # records of a source that could not be decoded and were dropped


class BatchProgress(msgspec.Struct):
    """The totals of one batch."""

    batch: int
    ended: float  # seconds since 1970
    read: int
    written: int
    late: int
    state_bytes: int
    millis: int | None = None  # duration; Spark reports it a little later than the other values
    state_log_bytes: int = 0


class StageProgress(msgspec.Struct):
    """One stage of a batch job and the number of its tasks."""

    name: str
    tasks: int = 0  # 0: unknown until the previous stages are done
    done: int = 0


class Progress(msgspec.Struct):
    """The progress of a run."""

    operators: list[OperatorProgress] = []
    batches: int = 0
    read: int = 0
    written: int = 0
    late: int = 0
    state_bytes: int = 0  # of all keys and values
    state_log_bytes: int = 0  # deltas that are not compacted yet
    watermark: int | None = None  # the lowest watermark of all operators
    read_rate: float = 0.0
    recent: list[BatchProgress] = []
    metrics: dict[str, Any] = {}  # registered by functions of the program, as operator.metric
    stages: list[StageProgress] = []  # only for batch jobs
    dead: int = 0  # dead letters
    skipped: int = 0  # records that could not be decoded and were dropped

    def labels(self) -> dict[str, str]:
        """Unique labels of the operators by uid. The uid is added to a name that several operators have."""
        return operator_labels({o.uid: o.name for o in self.operators})

    @property
    def batch_millis(self) -> int | None:
        """The duration of the last batch that Spark has reported."""
        return next((b.millis for b in reversed(self.recent) if b.millis is not None), None)
