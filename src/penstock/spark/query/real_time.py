"""Jobs in the real-time mode of Spark: Spark expressions only, records are processed one by one, without micro-batches."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Configuration
from penstock.config.execution_options import REAL_TIME
from penstock.connectors.dataframe import DataFrameStream, SparkSink
from penstock.engine.program.program import Program
from penstock.errors import PlanError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.plan.graph import JobGraph
from penstock.plan.native import real_time_obstacles
from penstock.spark.query.dataframe_sources import check_session
from penstock.spark.session.session import activate_session, configure_session


def runs_in_real_time(graph: JobGraph, configuration: Configuration) -> bool:
    """Whether a job runs in real-time mode. Raises PlanError if the option is set and the job cannot."""
    if not configuration.get(REAL_TIME):
        return False
    if obstacles := real_time_obstacles(graph):
        raise PlanError(
            "REAL_TIME",
            f"{REAL_TIME.key} is set, but job '{graph.name}' cannot run in real-time mode: {'; '.join(obstacles)}. Real-time mode "
            "needs a streaming DataFrame that goes directly to a SparkSink. Remove the option to run the job in micro-batches.",
        )
    return True


def start_in_real_time(
    session: SparkSession, program: Program, checkpoint: Checkpoint, run: str, configuration: Configuration
) -> StreamingQuery:
    """Starts the query. Returns immediately."""
    activate_session(session)
    configure_session(session, configuration, program.parallelism)
    (source,), (sink,) = program.sources, program.sinks
    assert isinstance(source.source, DataFrameStream)
    assert isinstance(sink, SparkSink)
    check_session(session, source.source.frame, source.name)
    writer = source.source.frame.writeStream.format(sink.format).options(**sink.plain_options())
    writer = writer.outputMode("update").option("checkpointLocation", checkpoint.spark).queryName(f"penstock-{run}")
    query: StreamingQuery = writer.trigger(realTime=f"{configuration.get(REAL_TIME)} milliseconds").start()
    return query
