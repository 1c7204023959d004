"""The accumulators of a job: Flink's metrics, and the metrics of functions."""

from __future__ import annotations

from typing import Any

from penstock.engine.program.program import Program
from penstock.jobs.run.run_totals import RunTotals
from penstock.metrics import JobMetrics
from penstock.metrics.labels import operator_labels


def count_accumulators(program: Program, totals: RunTotals, metrics: JobMetrics) -> dict[str, Any]:
    """Counts of a run as `operator.metric`: Flink's metrics, and the metrics of functions."""
    names = operator_labels({uid: name for _, uid, name in program.components()})
    counts = [
        *((program.sources[n].uid, "numRecordsOut", count) for n, count in totals.records_read.items()),
        *((uid, "numRecordsIn", count) for uid, count in totals.records.items()),
        *((uid, "numLateRecordsDropped", count) for uid, count in totals.late.items()),
        *((program.sink_uids[n], "numRecordsIn", count) for n, count in totals.records_written.items()),
    ]
    by_name = {f"{names.get(uid, uid)}.{metric}": count for uid, metric, count in counts}
    return {**by_name, **metrics.accumulators(names)}
