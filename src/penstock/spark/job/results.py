"""The reports of the last batches of a job."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.query.batch_query import BatchQuery
from penstock.spark.report.run_folder import RunFolder


def last_batches(folder: RunFolder, query: StreamingQuery | BatchQuery) -> list[dict[str, Any]]:
    """The reports of the last batches. `millis` holds Spark's durations of a batch."""
    durations = {p["batchId"]: p["durationMs"] for p in query.recentProgress}
    return [{**r.to_dict(), "millis": durations.get(r.batch, {})} for r in folder.reports.latest()]
