"""The names that programs import from `pyflink.table` and its modules."""

from __future__ import annotations

from penstock.table.api.aggregated_table import AggregatedTable
from penstock.table.api.flat_aggregate_table import FlatAggregateTable
from penstock.table.api.group_windowed_table import GroupWindowedTable
from penstock.table.api.grouped_table import GroupedTable
from penstock.table.api.over_windowed_table import OverWindowedTable
from penstock.table.api.table import Table
from penstock.table.api.table_pipeline import TablePipeline
from penstock.table.api.window_grouped_table import WindowGroupedTable
from penstock.table.catalog_objects.base_table import CatalogBaseTable
from penstock.table.catalog_objects.catalog import Catalog, CatalogDescriptor, HiveCatalog, Procedure
from penstock.table.catalog_objects.columns import Column, ComputedColumn, MetadataColumn, PhysicalColumn
from penstock.table.catalog_objects.constraints import Constraint, UniqueConstraint, WatermarkSpec
from penstock.table.catalog_objects.described import (
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
)
from penstock.table.catalog_objects.identifiers import ObjectIdentifier, ObjectPath
from penstock.table.catalog_objects.model_descriptor import ModelDescriptor
from penstock.table.catalog_objects.resolved_expression import ResolvedExpression
from penstock.table.catalog_objects.resolved_schema import ResolvedSchema
from penstock.table.catalog_objects.statistics import CatalogColumnStatistics, CatalogTableStatistics
from penstock.table.catalog_objects.user_defined_type import UserDefinedType
from penstock.table.data_types import DataType, DataTypes, RowType
from penstock.table.environment.changelog_mode import ChangelogMode
from penstock.table.environment.descriptor import FormatDescriptor, Schema, TableDescriptor
from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.explain_detail import ExplainDetail
from penstock.table.environment.members.modules import HiveModule, Module
from penstock.table.environment.module_entry import ModuleEntry
from penstock.table.environment.plans.compiled_plan import CompiledPlan
from penstock.table.environment.plans.plan_reference import (
    BytesContentPlanReference,
    FilePlanReference,
    JsonContentPlanReference,
    PlanReference,
)
from penstock.table.environment.schema import TableSchema
from penstock.table.environment.settings import EnvironmentSettings
from penstock.table.environment.statement_set import StatementSet
from penstock.table.environment.stream_environment import StreamTableEnvironment
from penstock.table.environment.table_config import SqlDialect, TableConfig
from penstock.table.environment.table_result import ResultKind, TableResult

__all__ = [
    "AggregatedTable",
    "BytesContentPlanReference",
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "ChangelogMode",
    "Column",
    "CompiledPlan",
    "ComputedColumn",
    "Constraint",
    "DataType",
    "DataTypes",
    "EnvironmentSettings",
    "ExplainDetail",
    "FilePlanReference",
    "FlatAggregateTable",
    "FormatDescriptor",
    "GroupWindowedTable",
    "GroupedTable",
    "HiveCatalog",
    "HiveModule",
    "JsonContentPlanReference",
    "MetadataColumn",
    "ModelDescriptor",
    "Module",
    "ModuleEntry",
    "ObjectIdentifier",
    "ObjectPath",
    "OverWindowedTable",
    "PhysicalColumn",
    "PlanReference",
    "Procedure",
    "ResolvedExpression",
    "ResolvedSchema",
    "ResultKind",
    "RowType",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UniqueConstraint",
    "UserDefinedType",
    "WatermarkSpec",
    "WindowGroupedTable",
]
