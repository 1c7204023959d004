"""Python functions for SQL and the Table API, with the names of `pyflink.table.udf`, and process table functions."""

from __future__ import annotations

from penstock.table.user_functions.aggregate_function import AggregateFunction, udaf
from penstock.table.user_functions.function import FunctionContext, UserDefinedFunction
from penstock.table.user_functions.process_table_function import ProcessTableFunction, udptf
from penstock.table.user_functions.scalar import AsyncScalarFunction, ScalarFunction, udf
from penstock.table.user_functions.table_aggregate_function import TableAggregateFunction, udtaf
from penstock.table.user_functions.table_function import TableFunction, udtf

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ProcessTableFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "udaf",
    "udf",
    "udptf",
    "udtaf",
    "udtf",
]
