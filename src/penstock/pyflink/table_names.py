"""The modules of PyFlink's Table API with their public names, and where Penstock has them."""

from __future__ import annotations

# The modules in which names of the Table API are looked up, in this order. Streams have other classes with the same names.
SEARCHED_TABLE_MODULES = (
    "penstock.table.environment.names",
    "penstock.table.expressions",
    "penstock.table.expressions.units",
    "penstock.table.expressions.windows",
    "penstock.table.user_functions.function",
    "penstock.table.user_functions.scalar",
    "penstock.table.user_functions.table_function",
    "penstock.table.user_functions.aggregate_function",
    "penstock.table.user_functions.table_aggregate_function",
    "penstock.table.user_functions.views",
)

TABLE_MODULES: dict[str, str] = {
    "table": """TableEnvironment StreamTableEnvironment Table StatementSet EnvironmentSettings TableConfig GroupedTable
        GroupWindowedTable OverWindowedTable WindowGroupedTable ScalarFunction TableFunction AggregateFunction
        TableAggregateFunction AsyncScalarFunction FunctionContext DataView ListView MapView TableDescriptor FormatDescriptor
        Schema Module ModuleEntry SqlDialect DataTypes UserDefinedType Expression TableSchema TableResult Row RowKind
        ChangelogMode ExplainDetail ResultKind CompiledPlan PlanReference TablePipeline""",
    "table.catalog": """Catalog CatalogDatabase CatalogBaseTable CatalogPartition CatalogFunction Procedure ObjectPath
        CatalogPartitionSpec CatalogTableStatistics CatalogColumnStatistics HiveCatalog CatalogDescriptor ObjectIdentifier
        Column PhysicalColumn ComputedColumn MetadataColumn WatermarkSpec Constraint UniqueConstraint ResolvedSchema
        CatalogModel JdbcCatalog""",
    "table.changelog_mode": "ChangelogMode",
    "table.compiled_plan": "CompiledPlan",
    "table.data_view": "DataView ListView MapView",
    "table.environment_settings": "EnvironmentSettings",
    "table.explain_detail": "ExplainDetail",
    "table.expression": """Expression TimeIntervalUnit TimePointUnit JsonType JsonExistsOnError JsonValueOnEmptyOrError
        JsonQueryWrapper JsonQueryOnEmptyOrError JsonOnNull""",
    "table.expressions": """if_then_else lit col range_ and_ or_ not_ UNBOUNDED_ROW UNBOUNDED_RANGE CURRENT_ROW
        CURRENT_RANGE current_database current_date current_time current_timestamp current_watermark local_time
        local_timestamp temporal_overlaps date_format timestamp_diff array row map_ row_interval pi e rand rand_integer atan2
        negative concat concat_ws uuid null_of log with_columns without_columns json json_string json_object json_object_agg
        json_array json_array_agg call call_sql source_watermark to_timestamp_ltz from_unixtime to_date to_timestamp
        convert_tz unix_timestamp descriptor map_from_arrays object_of coalesce with_all_columns lag lead Expression
        TimePointUnit JsonOnNull""",
    "table.model_descriptor": "ModelDescriptor",
    "table.module": "HiveModule Module ModuleEntry",
    "table.plan_reference": """PlanReference FilePlanReference JsonContentPlanReference BytesContentPlanReference""",
    "table.resolved_expression": "ResolvedExpression",
    "table.result_kind": "ResultKind",
    "table.schema": "Schema",
    "table.sql_dialect": "SqlDialect",
    "table.statement_set": "StatementSet",
    "table.table": """Table GroupedTable GroupWindowedTable OverWindowedTable WindowGroupedTable AggregatedTable
        FlatAggregateTable""",
    "table.table_config": "TableConfig",
    "table.table_descriptor": "TableDescriptor FormatDescriptor",
    "table.table_environment": "TableEnvironment StreamTableEnvironment",
    "table.table_pipeline": "TablePipeline",
    "table.table_result": "TableResult CloseableIterator",
    "table.table_schema": "TableSchema",
    "table.types": "DataType DataTypes RowType Row RowKind UserDefinedType",
    "table.udf": """FunctionContext AggregateFunction ScalarFunction TableFunction TableAggregateFunction AsyncScalarFunction
        udf udtf udaf udtaf UserDefinedFunction ImperativeAggregateFunction UserDefinedFunctionWrapper""",
    "table.window": """Tumble Session Slide Over GroupWindow OverWindow TumbleWithSize TumbleWithSizeOnTime SessionWithGap
        SessionWithGapOnTime SlideWithSize SlideWithSizeAndSlide SlideWithSizeAndSlideOnTime OverWindowPartitionedOrdered
        OverWindowPartitionedOrderedPreceding OverWindowPartitioned""",
}

# Names that programs import although the modules do not export them, by module: where Penstock has them
UNEXPORTED_NAMES: dict[str, tuple[str, ...]] = {
    "table.descriptors": ("penstock.pyflink.descriptors",),  # deprecated; `Schema` is another class there
    "table.types": (
        "penstock.table.type_classes",
        "penstock.pyflink.type_inference",
        "penstock.pyflink.type_verifier",
    ),
}
