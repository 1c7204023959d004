"""Sources and sinks for Spark DataFrames. This package does not import Spark."""

from penstock.connectors.dataframe.batch_source import DataFrameTable
from penstock.connectors.dataframe.foreach_batch import ForeachBatchSink
from penstock.connectors.dataframe.spark_sink import SparkSink
from penstock.connectors.dataframe.streaming_source import DataFrameStream

__all__ = ["DataFrameStream", "DataFrameTable", "ForeachBatchSink", "SparkSink"]
