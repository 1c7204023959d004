"""What a job's batches have amounted to so far, operator by operator."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.metrics.labels import labels

SOURCE, STEP, OPERATOR, SINK = "source", "step", "operator", "sink"


class OperatorFigures(msgspec.Struct):
    """One operator: elements in and out, those it dropped as late or put aside, and how far its event time has come."""

    uid: str
    name: str
    kind: str
    records_in: int = 0
    records_out: int = 0
    in_rate: float = 0.0  # per second, over the last batches
    out_rate: float = 0.0
    late: int = 0
    watermark: int | None = None
    dead: int = 0  # put aside as dead letters
    skipped: int = 0  # records of a source that do not decode and were dropped


class BatchFigures(msgspec.Struct):
    """One batch."""

    batch: int
    ended: float  # seconds since 1970
    read: int
    written: int
    late: int
    state_bytes: int
    millis: int | None = None  # how long it took; Spark tells a little later than the rest


class StageFigures(msgspec.Struct):
    """One stage of a batch job: what runs in it, and how many of its tasks are done."""

    name: str
    tasks: int = 0  # 0: not known before the stages before it are done
    done: int = 0


class Progress(msgspec.Struct):
    """All figures of a run."""

    operators: list[OperatorFigures] = []
    batches: int = 0
    read: int = 0
    written: int = 0
    late: int = 0
    state_bytes: int = 0
    watermark: int | None = None  # of the operator that is furthest behind
    read_rate: float = 0.0
    recent: list[BatchFigures] = []
    metrics: dict[str, Any] = {}  # of the program's functions, as operator.metric
    stages: list[StageFigures] = []  # of a batch job
    dead: int = 0  # elements and records put aside as dead letters
    skipped: int = 0  # records that do not decode and were dropped

    def labels(self) -> dict[str, str]:
        """What operators are called, by uid: operators of one name are told apart."""
        return labels({o.uid: o.name for o in self.operators})

    @property
    def batch_millis(self) -> int | None:
        """How long the last measured batch took."""
        return next((b.millis for b in reversed(self.recent) if b.millis is not None), None)
