"""The results of a job: its accumulators, and the reports of its last batches."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.program.program import Program
from penstock.metrics.labels import operator_labels
from penstock.spark.query.batch_query import BatchQuery
from penstock.spark.report.run_folder import RunFolder


def count_accumulators(program: Program, folder: RunFolder) -> dict[str, Any]:
    """Counts of a run as `operator.metric`: Flink's metrics, and the metrics of functions."""
    totals = folder.reports.totals()
    names = operator_labels({uid: name for _, uid, name in program.components()})
    counts = [
        *((program.sources[n].uid, "numRecordsOut", count) for n, count in totals.records_read.items()),
        *((uid, "numRecordsIn", count) for uid, count in totals.records.items()),
        *((uid, "numLateRecordsDropped", count) for uid, count in totals.late.items()),
        *((program.sink_uids[n], "numRecordsIn", count) for n, count in totals.records_written.items()),
    ]
    by_name = {f"{names.get(uid, uid)}.{metric}": count for uid, metric, count in counts}
    return {**by_name, **folder.metrics().accumulators(names)}


def last_batches(folder: RunFolder, query: StreamingQuery | BatchQuery) -> list[dict[str, Any]]:
    """The reports of the last batches. `millis` holds Spark's durations of a batch."""
    durations = {p["batchId"]: p["durationMs"] for p in query.recentProgress}
    return [{**r.to_dict(), "millis": durations.get(r.batch, {})} for r in folder.reports.latest()]
