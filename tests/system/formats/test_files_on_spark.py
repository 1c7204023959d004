"""Columnar files on Spark, written by one job and read by another."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import FileSink, FileSource
from penstock.formats import (
    OrcBulkWriters,
    OrcColumnarRowInputFormat,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from tests.system.spark.test_jobs import environment

pytestmark = pytest.mark.spark


class Order(msgspec.Struct):
    id: int
    items: list[str]


def test_parquet_and_orc(spark: SparkSession, tmp_path: Path) -> None:
    orders = [Order(n, [str(n)] * (n % 3)) for n in range(500)]
    env = environment(tmp_path)
    stream = env.from_collection(orders, ps.Types.of(Order))
    stream.sink_to(FileSink.for_bulk_format(str(tmp_path / "parquet"), ParquetBulkWriters.for_row_type(Order)).build())
    stream.sink_to(FileSink.for_bulk_format(str(tmp_path / "orc"), OrcBulkWriters.for_row_type(Order)).build())
    env.execute()
    reads = spark.read.option("recursiveFileLookup", "true")
    assert reads.parquet(str(tmp_path / "parquet")).count() == 500, "Spark itself reads them"
    assert reads.orc(str(tmp_path / "orc")).count() == 500
    env = environment(tmp_path / "back")
    parquet = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(Order), str(tmp_path / "parquet")).build()
    orc = FileSource.for_bulk_file_format(OrcColumnarRowInputFormat(Order), str(tmp_path / "orc")).build()
    both = env.from_source(parquet).union(env.from_source(orc))
    result = sorted(both.execute_and_collect(), key=lambda order: order.id)
    assert result == [order for order in orders for _ in range(2)]
