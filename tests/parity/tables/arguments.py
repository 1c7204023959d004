"""Arguments for the methods of the Table API, by parameter or by name."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pandas as pd

import penstock as ps
from penstock.table import ChangelogMode, DataTypes, EnvironmentSettings, Schema, TableSchema
from penstock.table.expressions import col, lit
from penstock.table.expressions import descriptor as columns
from tests.parity.tables.names import find
from tests.parity.tables.samples import (
    OBJECTS,
    ROW,
    added,
    catalog,
    descriptor,
    every,
    folder,
    other,
    over,
    pair,
    partition,
    path,
    plan,
    schema_of_time,
    table,
    tumble,
    twice,
)

# By parameter. Created for each call.
BY_PARAMETER: dict[str, Callable[[], Any]] = {
    "fields": lambda: col("a"),
    "field": lambda: "a",
    "predicate": lambda: col("a") > 1,
    "join_predicate": lambda: col("a") == col("c"),
    "offset": lambda: 1,
    "fetch": lambda: 1,
    "extra_details": lambda: find("ExplainDetail").CHANGELOG_MODE,
    "table_path_or_descriptor": lambda: "sink",
    "target_path_or_descriptor": descriptor,
    "stmt": lambda: "INSERT INTO sink VALUES (1, 'x')",
    "query": lambda: "SELECT 1",
    "environment_settings": EnvironmentSettings.in_streaming_mode,
    "catalog_name": lambda: "default_catalog",
    "database_name": lambda: "default_database",
    "catalog_descriptor": lambda: find("CatalogDescriptor").of("m", {"type": "generic_in_memory"}),
    "module_name": lambda: "core",
    "module_names": lambda: "core",
    "module": lambda: None,
    "function": lambda: pair,
    "name": lambda: "n",
    "path": lambda: "n",
    "descriptor": descriptor,
    "table_path": lambda: "n",
    "view_path": lambda: "n",
    "model_path": lambda: "n",
    "model_descriptor": lambda: None,
    "elements": lambda: [(1, "x")],
    "pdf": lambda: pd.DataFrame({"a": [1]}),
    "plan_reference": lambda: find("PlanReference").from_json_string(plan().as_json_string()),
    "file_path": lambda: str(folder() / "file.txt"),
    "requirements_file_path": lambda: str(folder() / "file.txt"),
    "archive_path": lambda: str(folder() / "file.txt"),
    "config": lambda: ps.Configuration(),
    "built_in_catalog_name": lambda: "c",
    "built_in_database_name": lambda: "d",
    "key": lambda: "a.b",
    "default_value": lambda: "c",
    "value": lambda: "c",
    "timezone_id": lambda: "UTC",
    "max_generated_code_length": lambda: 1,
    "duration": lambda: datetime.timedelta(hours=1),
    "configuration": lambda: ps.Configuration(),
    "sql_dialect": lambda: find("SqlDialect").DEFAULT,
    "python_exec": lambda: "python3",
    "json_string": lambda: "{}",
    "smile_bytes": lambda: b"{}",
    "provider": lambda: "p",
    "input_schema": lambda: Schema.new_builder().build(),
    "output_schema": lambda: Schema.new_builder().build(),
    "comment": lambda: "a comment",
    "unresolved_schema": lambda: Schema.new_builder().column("a", "INT").build(),
    "resolved_schema": schema_of_time,
    "data_type": DataTypes.INT,
    "field_names": lambda: ["a"],
    "field_data_types": lambda: [DataTypes.INT()],
    "column_name": lambda: "a",
    "column_names": lambda: "a",
    "constraint_name": lambda: "k",
    "expr": lambda: "a + 1",
    "watermark_expr": lambda: "a - INTERVAL '1' SECOND",
    "field_index": lambda: 0,
    "connector": lambda: "blackhole",
    "schema": lambda: Schema.new_builder().column("a", "INT").build(),
    "format": lambda: "json",
    "partition_keys": lambda: "a",
    "obj": lambda: [1.5],
    "datum": lambda: [1.5],
    "length": lambda: 3,
    "precision": lambda: 5,
    "scale": lambda: 2,
    "element_type": DataTypes.INT,
    "key_type": DataTypes.STRING,
    "value_type": DataTypes.INT,
    "database": lambda: find("CatalogDatabase").create_instance({}),
    "new_database": lambda: find("CatalogDatabase").create_instance({}),
    "ignore_if_exists": lambda: True,
    "ignore_if_not_exists": lambda: True,
    "properties": dict,
    "class_name": lambda: "m.f",
    "full_name": lambda: "d.t",
    "other": path,
    "database_object": lambda: None,
    "object_name": lambda: "t",
    "columns": lambda: ["a"],
    "new_data_type": DataTypes.BIGINT,
    "new_type": DataTypes.BIGINT,
    "new_name": lambda: "c",
    "rowtime_attribute": lambda: "t",
    "watermark_expression": lambda: OBJECTS["ResolvedExpression"](),
    "resolved_expression": lambda: OBJECTS["ResolvedExpression"](),
    "metadata_key": lambda: "k",
    "is_virtual": lambda: True,
    "column_index_or_name": lambda: 0,
    "column_data_types": lambda: [DataTypes.INT()],
    "original_query": lambda: "SELECT 1",
    "expanded_query": lambda: "SELECT 1",
    "size": lambda: lit(1).hours,
    "gap": lambda: lit(1).hours,
    "slide": lambda: lit(1).hours,
    "time_field": lambda: col("t"),
    "order_by": lambda: col("t"),
    "partition_by": lambda: col("a"),
    "preceding": lambda: lit(1).hours,
    "following": lambda: lit(0).hours,
    "alias": lambda: "w",
}
_PATHS: dict[str, Callable[[], Any]] = {
    "table_path": lambda: path("parts"),
    "function_path": lambda: path("f"),
    "procedure_path": path,
    "model_path": path,
    "partition_spec": partition,
    "partition_specs": lambda: [partition()],
    "partition": lambda: find("CatalogPartition").create_instance({}),
    "new_partition": lambda: find("CatalogPartition").create_instance({}),
    "table": lambda: catalog().get_table(path()),
    "new_table": lambda: catalog().get_table(path()),
    "new_table_name": lambda: "new",
    "function": lambda: find("CatalogFunction").create_instance("m.f"),
    "new_function": lambda: find("CatalogFunction").create_instance("m.f"),
    "model": lambda: None,
    "new_model": lambda: None,
    "new_model_name": lambda: "new",
    "table_statistics": lambda: find("CatalogTableStatistics")(1, 1, 1, 1),
    "partition_statistics": lambda: find("CatalogTableStatistics")(1, 1, 1, 1),
    "column_statistics": lambda: find("CatalogColumnStatistics")({}),
}

# Where the parameter's name is not enough. The object is the one that is called.
BY_NAME: dict[str, Callable[[Any], list[Any]]] = {
    "Table.alias": lambda t: ["x"],
    "Table.rename_columns": lambda t: [col("a").alias("x")],
    "Table.add_columns": lambda t: [(col("a") + 1).alias("x")],
    **{
        f"Table.{name}": lambda t: [other(t), col("a") == col("c")]
        for name in ("join", "left_outer_join", "right_outer_join", "full_outer_join")
    },
    **{
        f"Table.{name}": lambda t: [t]
        for name in ("minus", "minus_all", "union", "union_all", "intersect", "intersect_all")
    },
    "Table.join_lateral": lambda t: [twice(col("a")).alias("x", "y")],
    "Table.left_outer_join_lateral": lambda t: [twice(col("a")).alias("x", "y")],
    "Table.map": lambda t: [pair(col("a"))],
    "Table.flat_map": lambda t: [twice(col("a"))],
    "Table.aggregate": lambda t: [added(col("a"))],
    "Table.flat_aggregate": lambda t: [every(col("a"))],
    "Table.window": lambda t: [tumble()],
    "Table.over_window": lambda t: [over()],
    "Table.to_changelog": lambda t: [],
    "Table.from_changelog": lambda t: [columns("b").as_argument("op")],
    "GroupedTable.select": lambda t: [col("b")],
    "GroupedTable.aggregate": lambda t: [added(col("a"))],
    "GroupedTable.flat_aggregate": lambda t: [every(col("a"))],
    "GroupWindowedTable.group_by": lambda t: [col("w")],
    "WindowGroupedTable.select": lambda t: [col("a").sum],
    "WindowGroupedTable.aggregate": lambda t: [added(col("a"))],
    "OverWindowedTable.select": lambda t: [col("a").sum.over(col("w"))],
    "AggregatedTable.select": lambda t: [col("x")],
    "FlatAggregateTable.select": lambda t: [col("x")],
    "StatementSet.add": lambda s: [table(s._environment).insert_into("sink")],
    "StatementSet.add_insert": lambda s: ["sink", table(s._environment)],
    "TableEnvironment.from_path": lambda env: ["sink"],
    "TableEnvironment.create_catalog": lambda env: ["m", BY_PARAMETER["catalog_descriptor"]()],
    "TableEnvironment.register_catalog": lambda env: ["m", env.get_catalog("default_catalog")],
    "TableEnvironment.create_temporary_view": lambda env: ["v", table(env)],
    "TableEnvironment.create_view": lambda env: ["v", table(env)],
    "StreamTableEnvironment.from_data_stream": lambda env: [_stream(env)],
    "StreamTableEnvironment.from_changelog_stream": lambda env: [_stream(env), None, ChangelogMode.all()],
    **{
        f"StreamTableEnvironment.{name}": lambda env: [table(env)] for name in ("to_data_stream", "to_changelog_stream")
    },
    **{
        f"StreamTableEnvironment.{name}": lambda env: [table(env), ps.Types.ROW([ps.Types.LONG(), ps.Types.STRING()])]
        for name in ("to_append_stream", "to_retract_stream")
    },
    "CompiledPlan.write_to_file": lambda plan: [str(folder() / "plan.json")],
    "Schema.Builder.from_row_data_type": lambda b: [ROW],
    "TableSchema.Builder.field": lambda b: ["a", DataTypes.INT()],
    "DataTypes.INTERVAL": lambda t: [DataTypes.DAY()],
    "CatalogBaseTable.create_table": lambda t: [TableSchema(["a"], [DataTypes.INT()])],
    "CatalogBaseTable.create_view": lambda t: ["SELECT 1", "SELECT 1", TableSchema(["a"], [DataTypes.INT()]), {}],
    "Catalog.create_database": lambda c: ["new", BY_PARAMETER["database"](), False],
    "Catalog.drop_database": lambda c: ["new", True],
    "Catalog.alter_database": lambda c: ["default_database", BY_PARAMETER["database"](), False],
    "Catalog.create_table": lambda c: [path("new"), c.get_table(path()), False],
    "Catalog.create_partition": lambda c: [path("parts"), partition("2"), _PATHS["partition"](), False],
    "ResolvedSchema.of": lambda s: [s.get_columns()],
    "ResolvedSchema.physical": lambda s: [["a"], [DataTypes.INT()]],
    "CatalogDescriptor.of": lambda d: ["c", {"type": "generic_in_memory"}],
}


def _stream(env: Any) -> Any:
    types = ps.Types.ROW_NAMED(["a"], [ps.Types.INT()])
    return env.session.stream_environment.from_collection([ps.Row(1)], types)


def arguments(name: Any, target: Any) -> list[Any]:
    """Returns positional arguments for a call; parameters with a default are left out."""
    if str(name) in BY_NAME:
        return BY_NAME[str(name)](target)
    made = {**BY_PARAMETER, **_PATHS} if name.owner == "Catalog" else BY_PARAMETER
    wanted = [p for p in name.parameters or () if not p.endswith("?") and not p.startswith("**")]
    return [made[parameter.lstrip("*")]() for parameter in wanted]
