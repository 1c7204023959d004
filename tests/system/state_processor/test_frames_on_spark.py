"""State as Spark DataFrames: reading and writing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.errors import StateError
from penstock.state_processor import SavepointReader, SavepointWriter


@dataclass
class Order:
    name: str
    amount: float


def test_a_dataframe_is_written_to_a_savepoint_and_read_again(spark: SparkSession, tmp_path: Path) -> None:
    n = 5000
    frame = spark.range(n).selectExpr("id % 7 AS shop", "concat('n', id) AS name", "id / 2 AS amount")
    orders = ps.ListStateDescriptor("orders", Order)
    writer = SavepointWriter.new_savepoint(64)
    writer.with_state("orders", orders, frame, key="shop", value=["name", "amount"])
    savepoint = writer.write(str(tmp_path / "s"))
    assert savepoint.verify() == []
    assert len(savepoint.manifest.files) > 1  # written by several tasks
    read = SavepointReader.read(savepoint.path).dataframe(spark, "orders", "orders")
    assert read.schema["value"].dataType.simpleString() == "struct<name:string,amount:double>"
    assert read.rdd.getNumPartitions() > 1
    assert read.groupBy("key").count().orderBy("key").collect() == [(k, len(range(k, n, 7))) for k in range(7)]
    same = sorted(tuple(r) for r in read.select("key", "value.name", "value.amount").collect())
    assert same == sorted((i % 7, f"n{i}", i * 0.5) for i in range(n))
    assert {f.name for f in (tmp_path / "s").iterdir()} == {
        "manifest.json",
        *(f.name for f in savepoint.manifest.files),
    }


def test_invalid_rows_have_the_same_error_as_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(10).selectExpr("id AS key", "'ten' AS value")
    writer = SavepointWriter.new_savepoint(8).with_state("o", ps.ValueStateDescriptor("v", int), frame)
    with pytest.raises(StateError, match=r"STATE_VALUE.*'ten'"):
        writer.write(str(tmp_path / "s"))
    assert not (tmp_path / "s").exists()
