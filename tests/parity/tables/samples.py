"""An object of each class of the Table API, and arguments for its methods."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    Table,
    TableAggregateFunction,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
    UserDefinedType,
)
from penstock.table.expressions import col, lit
from penstock.table.expressions.windows import Over, Session, Slide, Tumble
from penstock.table.udf import udaf, udf, udtaf, udtf
from tests.parity.tables.names import find

_LOCAL = {"execution.engine": "local"}
ROW = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.BIGINT()), DataTypes.FIELD("y", DataTypes.BIGINT())])


@cache
def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="penstock-parity-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    (made / "file.txt").write_text("", encoding="utf-8")
    return made


class _Sum(AggregateFunction[Any, Any]):
    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: Any) -> Any:
        return ps.Row(accumulator[0], 1)

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return ROW


class _All(TableAggregateFunction[Any, Any]):
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: Any) -> Any:
        for value in accumulator:
            yield ps.Row(value, 1)

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return ROW


class Point(UserDefinedType):
    """A type of a program."""

    @classmethod
    def sql_type(cls) -> Any:
        return DataTypes.ARRAY(DataTypes.DOUBLE())

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Any) -> Any:
        return obj

    def deserialize(self, datum: Any) -> Any:
        return datum


pair = udf(lambda v: ps.Row(v, v), result_type=ROW)
twice = udtf(lambda v: [(v, v), (v, v)], result_types=[DataTypes.BIGINT(), DataTypes.BIGINT()])
added = udaf(_Sum())
every = udtaf(_All())


def environment() -> TableEnvironment:
    settings = EnvironmentSettings.new_instance().with_configuration(ps.Configuration(_LOCAL)).build()
    env = TableEnvironment.create(settings)
    env.execute_sql("CREATE TABLE sink (a BIGINT, b STRING) WITH ('connector' = 'blackhole')")
    env.execute_sql("CREATE TEMPORARY TABLE temporary_sink (a BIGINT) WITH ('connector' = 'blackhole')")
    return env


def stream_environment() -> StreamTableEnvironment:
    return StreamTableEnvironment.create(
        ps.StreamExecutionEnvironment.get_execution_environment(ps.Configuration(_LOCAL))
    )


def table(env: TableEnvironment | None = None) -> Table:
    return (env or environment()).from_elements([(1, "x"), (2, "y")], ["a", "b"])


def timed() -> Table:
    env = environment()
    env.execute_sql(
        "CREATE TEMPORARY TABLE timed (a BIGINT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '1')"
    )
    return env.from_path("timed")


def tumble() -> Any:
    return Tumble.over(lit(1).hours).on(col("t")).alias("w")


def over() -> Any:
    return Over.order_by(col("t")).alias("w")


def other(target: Table) -> Table:
    return target.select(col("a").alias("c"), col("b").alias("d"))


def descriptor() -> TableDescriptor:
    schema = Schema.new_builder().column("a", "BIGINT").column("b", "STRING").build()
    return TableDescriptor.for_connector("blackhole").schema(schema).build()


def plan() -> Any:
    return environment().compile_plan_sql("INSERT INTO sink VALUES (1, 'x')")


def path(name: str = "sink") -> Any:
    return find("ObjectPath")("default_database", name)


def catalog() -> Any:
    """A catalog with a table that has a partition, and with a function."""
    found = environment().get_catalog("default_catalog")
    assert found is not None
    schema = TableSchema(["p", "n"], [DataTypes.STRING(), DataTypes.INT()])
    made = find("CatalogBaseTable").create_table(schema, ["p"], {"connector": "blackhole"})
    found.create_table(path("parts"), made, False)
    found.create_partition(path("parts"), partition(), find("CatalogPartition").create_instance({}), False)
    found.create_function(path("f"), find("CatalogFunction").create_instance("m.f"), False)
    return found


def partition(value: str = "1") -> Any:
    return find("CatalogPartitionSpec")({"p": value})


def schema_of_time() -> Any:
    return timed().get_resolved_schema()


OBJECTS: dict[str, Callable[[], Any]] = {
    "Table": table,
    "GroupedTable": lambda: table().group_by(col("b")),
    "GroupWindowedTable": lambda: timed().window(tumble()),
    "WindowGroupedTable": lambda: timed().window(tumble()).group_by(col("w")),
    "OverWindowedTable": lambda: timed().over_window(over()),
    "AggregatedTable": lambda: table().group_by(col("b")).aggregate(added(col("a"))),
    "FlatAggregateTable": lambda: table().group_by(col("b")).flat_aggregate(every(col("a"))),
    "TablePipeline": lambda: table().insert_into("sink"),
    "TableResult": lambda: table().execute(),
    "StatementSet": lambda: environment().create_statement_set().add_insert_sql("INSERT INTO sink VALUES (1, 'x')"),
    "TableEnvironment": environment,
    "StreamTableEnvironment": stream_environment,
    "EnvironmentSettings": EnvironmentSettings.in_streaming_mode,
    "EnvironmentSettings.Builder": EnvironmentSettings.new_instance,
    "TableConfig": lambda: environment().get_config(),
    "Module": lambda: find("Module")(),
    "HiveModule": lambda: find("HiveModule")(),
    "ModuleEntry": lambda: environment().list_full_modules()[0],
    "CompiledPlan": plan,
    "FilePlanReference": lambda: find("PlanReference").from_file("plan.json"),
    "JsonContentPlanReference": lambda: find("PlanReference").from_json_string("{}"),
    "BytesContentPlanReference": lambda: find("PlanReference").from_smile_bytes(b"{}"),
    "ModelDescriptor": lambda: find("ModelDescriptor").for_provider("p").build(),
    "ModelDescriptor.Builder": lambda: find("ModelDescriptor").for_provider("p"),
    "Schema.Builder": Schema.new_builder,
    "TableSchema": lambda: table().get_schema(),
    "TableSchema.Builder": TableSchema.builder,
    "TableDescriptor": descriptor,
    "TableDescriptor.Builder": lambda: TableDescriptor.for_connector("blackhole"),
    "FormatDescriptor": lambda: find("FormatDescriptor").for_format("json").build(),
    "FormatDescriptor.Builder": lambda: find("FormatDescriptor").for_format("json"),
    "UserDefinedType": Point,
    "ResolvedExpression": lambda: schema_of_time().get_watermark_specs()[0].get_watermark_expression(),
    "Catalog": catalog,
    "CatalogDatabase": lambda: find("CatalogDatabase").create_instance({}),
    "CatalogBaseTable": lambda: catalog().get_table(path()),
    "CatalogPartition": lambda: find("CatalogPartition").create_instance({}),
    "CatalogFunction": lambda: find("CatalogFunction").create_instance("m.f"),
    "Procedure": lambda: find("Procedure")(),
    "ObjectPath": path,
    "CatalogPartitionSpec": partition,
    "CatalogTableStatistics": lambda: find("CatalogTableStatistics")(1, 1, 1, 1),
    "CatalogColumnStatistics": lambda: find("CatalogColumnStatistics")({}),
    "HiveCatalog": lambda: find("HiveCatalog")("hive"),
    "ObjectIdentifier": lambda: find("ObjectIdentifier").of("c", "d", "t"),
    "Column": lambda: schema_of_time().get_columns()[0],
    "PhysicalColumn": lambda: schema_of_time().get_columns()[0],
    "ComputedColumn": lambda: find("Column").computed("c", OBJECTS["ResolvedExpression"]()),
    "MetadataColumn": lambda: find("Column").metadata("c", DataTypes.INT(), "k", True),
    "WatermarkSpec": lambda: schema_of_time().get_watermark_specs()[0],
    "Constraint": lambda: find("UniqueConstraint").primary_key("k", ["a"]),
    "UniqueConstraint": lambda: find("UniqueConstraint").primary_key("k", ["a"]),
    "ResolvedSchema": schema_of_time,
    "TumbleWithSize": lambda: Tumble.over(lit(1).hours),
    "TumbleWithSizeOnTime": lambda: Tumble.over(lit(1).hours).on(col("t")),
    "SessionWithGap": lambda: Session.with_gap(lit(1).hours),
    "SessionWithGapOnTime": lambda: Session.with_gap(lit(1).hours).on(col("t")),
    "SlideWithSize": lambda: Slide.over(lit(2).hours),
    "SlideWithSizeAndSlide": lambda: Slide.over(lit(2).hours).every(lit(1).hours),
    "SlideWithSizeAndSlideOnTime": lambda: Slide.over(lit(2).hours).every(lit(1).hours).on(col("t")),
    "OverWindowPartitionedOrdered": lambda: Over.order_by(col("t")),
    "OverWindowPartitionedOrderedPreceding": lambda: Over.order_by(col("t")).preceding(lit(1).hours),
    "OverWindowPartitioned": lambda: Over.partition_by(col("a")),
}
