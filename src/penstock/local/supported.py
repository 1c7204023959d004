"""Checks that a job contains nothing that only Spark can run."""

from __future__ import annotations

from penstock.config import Configuration
from penstock.config.execution_options import REAL_TIME
from penstock.connectors.dataframe import DataFrameTable
from penstock.errors import UnsupportedOperation
from penstock.plan.graph import JobGraph

_USE_SPARK = "Run the job on Spark: without --local, or with execution.engine: spark."


def check_supported(graph: JobGraph, configuration: Configuration) -> None:
    """Raises an error that names the first part of a job that needs Spark."""
    for source in graph.sources:
        if source.source.native or isinstance(source.source, DataFrameTable):
            raise _needs_spark(f"source '{source.name}' ({source.line}) reads a Spark DataFrame")
    for sink in graph.sinks:
        if sink.sink.native or sink.sink.commits_in_program:
            raise _needs_spark(f"sink '{sink.name}' ({sink.line}) passes its elements to Spark")
    if configuration.get(REAL_TIME):
        raise _needs_spark(f"{REAL_TIME.key} is set, which is a mode of Spark")


def _needs_spark(reason: str) -> UnsupportedOperation:
    return UnsupportedOperation("NEEDS_SPARK", f"The local engine cannot run this job: {reason}. {_USE_SPARK}")
