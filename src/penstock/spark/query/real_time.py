"""A job of Spark's own expressions in Spark's real-time mode: records pass one by one, without micro-batches and without Python."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import REAL_TIME, Configuration
from penstock.connectors.dataframe import DataFrameStream, SparkSink
from penstock.engine.program import Program
from penstock.errors import PlanError
from penstock.plan.graph import JobGraph
from penstock.plan.native import real_time_obstacles
from penstock.spark.bridge import check_session
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.session import make_active, prepare


def in_real_time(graph: JobGraph, configuration: Configuration) -> bool:
    """Whether a job runs in real-time mode; it is refused when it should and cannot."""
    if not configuration.get(REAL_TIME):
        return False
    if obstacles := real_time_obstacles(graph):
        raise PlanError(
            "REAL_TIME",
            f"{REAL_TIME.key} is set, and job '{graph.name}' cannot run in real-time mode: {'; '.join(obstacles)}. It takes a "
            "streaming DataFrame, with its expressions, and a SparkSink behind it. Leave the option out, and it runs in batches.",
        )
    return True


def start_in_real_time(
    session: SparkSession, program: Program, checkpoint: Checkpoint, run: str, configuration: Configuration
) -> StreamingQuery:
    """Starts the query; gives at once."""
    make_active(session)
    prepare(session, configuration, program.parallelism)
    (source,), (sink,) = program.sources, program.sinks
    assert isinstance(source.source, DataFrameStream)
    assert isinstance(sink, SparkSink)
    check_session(session, source.source.frame, source.name)
    writer = source.source.frame.writeStream.format(sink.format).options(**sink.plain_options())
    writer = writer.outputMode("update").option("checkpointLocation", checkpoint.spark).queryName(f"penstock-{run}")
    query: StreamingQuery = writer.trigger(realTime=f"{configuration.get(REAL_TIME)} milliseconds").start()
    return query
