"""Tables and streaming SQL.

>>> from penstock.table import EnvironmentSettings, TableEnvironment
>>> env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())

The names are those of `pyflink.table`. They are loaded when they are first used, because most programs need few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.row import Row, RowKind
    from penstock.table.api.group_windowed_table import GroupWindowedTable
    from penstock.table.api.grouped_table import GroupedTable
    from penstock.table.api.over_windowed_table import OverWindowedTable
    from penstock.table.api.table import Table
    from penstock.table.api.table_pipeline import TablePipeline
    from penstock.table.api.window_grouped_table import WindowGroupedTable
    from penstock.table.catalog_objects.user_defined_type import UserDefinedType
    from penstock.table.data_types import DataTypes
    from penstock.table.environment.changelog_mode import ChangelogMode
    from penstock.table.environment.descriptor import FormatDescriptor, Schema, TableDescriptor
    from penstock.table.environment.environment import TableEnvironment
    from penstock.table.environment.explain_detail import ExplainDetail
    from penstock.table.environment.members.modules import Module
    from penstock.table.environment.module_entry import ModuleEntry
    from penstock.table.environment.plans.compiled_plan import CompiledPlan
    from penstock.table.environment.plans.plan_reference import PlanReference
    from penstock.table.environment.schema import TableSchema
    from penstock.table.environment.settings import EnvironmentSettings
    from penstock.table.environment.statement_set import StatementSet
    from penstock.table.environment.stream_environment import StreamTableEnvironment
    from penstock.table.environment.table_config import SqlDialect, TableConfig
    from penstock.table.environment.table_result import ResultKind, TableResult
    from penstock.table.expressions.expression import Expression
    from penstock.table.user_functions.aggregate_function import AggregateFunction
    from penstock.table.user_functions.function import FunctionContext
    from penstock.table.user_functions.scalar import AsyncScalarFunction, ScalarFunction
    from penstock.table.user_functions.table_aggregate_function import TableAggregateFunction
    from penstock.table.user_functions.table_function import TableFunction
    from penstock.table.user_functions.views import DataView, ListView, MapView

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]

_MODULES = {
    "AggregateFunction": "user_functions.aggregate_function",
    "AsyncScalarFunction": "user_functions.scalar",
    "ChangelogMode": "environment.changelog_mode",
    "CompiledPlan": "environment.plans.compiled_plan",
    "DataTypes": "data_types",
    "DataView": "user_functions.views",
    "EnvironmentSettings": "environment.settings",
    "ExplainDetail": "environment.explain_detail",
    "Expression": "expressions.expression",
    "FormatDescriptor": "environment.descriptor",
    "FunctionContext": "user_functions.function",
    "GroupWindowedTable": "api.group_windowed_table",
    "GroupedTable": "api.grouped_table",
    "ListView": "user_functions.views",
    "MapView": "user_functions.views",
    "Module": "environment.members.modules",
    "ModuleEntry": "environment.module_entry",
    "OverWindowedTable": "api.over_windowed_table",
    "PlanReference": "environment.plans.plan_reference",
    "ResultKind": "environment.table_result",
    "ScalarFunction": "user_functions.scalar",
    "Schema": "environment.descriptor",
    "SqlDialect": "environment.table_config",
    "StatementSet": "environment.statement_set",
    "StreamTableEnvironment": "environment.stream_environment",
    "Table": "api.table",
    "TableAggregateFunction": "user_functions.table_aggregate_function",
    "TableConfig": "environment.table_config",
    "TableDescriptor": "environment.descriptor",
    "TableEnvironment": "environment.environment",
    "TableFunction": "user_functions.table_function",
    "TablePipeline": "api.table_pipeline",
    "TableResult": "environment.table_result",
    "TableSchema": "environment.schema",
    "UserDefinedType": "catalog_objects.user_defined_type",
    "WindowGroupedTable": "api.window_grouped_table",
}


def __getattr__(name: str) -> Any:
    if name in ("Row", "RowKind"):
        return getattr(import_module("penstock.row"), name)
    if name in _MODULES:
        return getattr(import_module(f"penstock.table.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
