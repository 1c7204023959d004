"""The bridge to Spark's DataFrames: any source and any sink of Spark's, without importing Spark here."""

from penstock.connectors.dataframe.foreach_batch import ForeachBatchSink
from penstock.connectors.dataframe.spark_sink import SparkSink
from penstock.connectors.dataframe.stream import DataFrameStream
from penstock.connectors.dataframe.table import DataFrameTable

__all__ = ["DataFrameStream", "DataFrameTable", "ForeachBatchSink", "SparkSink"]
