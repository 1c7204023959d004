"""The connector 'python': a table whose rows a Python function finds."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import ConfigError, ElementError, JobError
from penstock.row import Row
from penstock.runtime.failure import short_repr
from penstock.runtime.relational.joins.lookup.table import Found, match_rows
from penstock.runtime.relational.steps.rows import python_values
from penstock.table.connectors.blackhole import not_writable
from penstock.table.connectors.interface import (
    LookupRequest,
    LookupSource,
    ScanRequest,
    SinkRequest,
    TableSink,
    TableSource,
)
from penstock.table.connectors.lookup.options import PARTIAL_CACHE_OPTIONS, cache_settings
from penstock.table.connectors.lookup.rows import to_columns
from penstock.table.connectors.options import Option, OptionValues, owner
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field

PYTHON_OPTIONS = (Option("lookup.function", required=True), *PARTIAL_CACHE_OPTIONS)
_TIMEOUT = 180_000  # milliseconds; Flink's default for asynchronous lookups


class FunctionTable:
    """Calls a function with the keys of a batch, a list of dicts, and reads the rows that it returns.

    A row is a dict, a sequence with one value per column of the table, or an object with the columns as attributes. The function
    may also return a `pyarrow.Table`. Rows of other keys are ignored.
    """

    def __init__(
        self,
        function: Callable[[list[dict[str, Any]]], Any],
        reference: str,
        table_columns: Sequence[str],
        fields: Sequence[Field],
        keys: Sequence[int],
        timeout: int,
        retries: int = 0,
    ) -> None:
        self._function = function
        self._reference = reference
        self._table_columns = list(table_columns)
        self._fields = list(fields)
        self._keys = list(keys)
        self._timeout = timeout
        self._retries = retries

    def __repr__(self) -> str:
        return f"FunctionTable({self._reference}, {self._fields}, {self._keys})"

    def find(self, keys: Sequence[pa.Array]) -> Found:
        """Calls the function once."""
        names = [self._fields[k].name for k in self._keys]
        values = [python_values(key, self._fields[k].type) for key, k in zip(keys, self._keys, strict=True)]
        asked = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        return match_rows(keys, self._columns(self._call(asked)), self._keys)

    def close(self) -> None:
        """Has no connections."""

    def _call(self, asked: list[dict[str, Any]]) -> Any:
        for attempt in range(self._retries + 1):
            try:
                result = self._function(asked)
                return asyncio.run(self._awaited(result)) if inspect.isawaitable(result) else result
            except TimeoutError as error:
                raise JobError(
                    "LOOKUP_TIMEOUT",
                    f"The lookup function {self._reference} did not return within {self._timeout} ms for {len(asked)} keys. "
                    "Increase 'timeout' of the LOOKUP hint or 'table.exec.async-lookup.timeout'.",
                ) from error
            except OSError:  # a server that cannot be reached for a moment
                if attempt == self._retries:
                    raise
        raise AssertionError("unreachable")

    async def _awaited(self, result: Any) -> Any:
        return await asyncio.wait_for(result, self._timeout / 1000)

    def _columns(self, returned: Any) -> list[pa.Array]:
        if isinstance(returned, pa.Table | pa.RecordBatch):
            return self._arrow(returned)
        if returned is None:
            returned = ()
        if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
            raise ElementError(
                "LOOKUP_RESULT",
                f"The lookup function {self._reference} returned {short_repr(returned)}, a {type(returned).__name__}. Return a "
                "list of rows: dicts, or tuples with one value per column of the table.",
            )
        return to_columns([self._row(row) for row in returned], self._fields, f"Lookup function {self._reference}")

    def _arrow(self, table: Any) -> list[pa.Array]:
        columns = []
        for field in self._fields:
            if field.name not in table.schema.names:
                raise self._bad_row(table.schema.names, field.name)
            column = table.column(field.name)
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            columns.append(column.cast(arrow_type(field.type)))
        return columns

    def _row(self, row: Any) -> list[Any]:
        if isinstance(row, Mapping):
            for field in self._fields:
                if field.name not in row and not field.type.nullable:
                    raise self._bad_row(row, field.name)
            return [row.get(field.name) for field in self._fields]
        if isinstance(row, Row | Sequence) and not isinstance(row, str | bytes):
            if len(row) != len(self._table_columns):
                raise ElementError(
                    "LOOKUP_RESULT",
                    f"The lookup function {self._reference} returned the row {short_repr(row)} with {len(row)} values. The table "
                    f"has {len(self._table_columns)} columns: {', '.join(self._table_columns)}.",
                )
            return [row[self._table_columns.index(field.name)] for field in self._fields]
        missing = next((f.name for f in self._fields if not hasattr(row, f.name)), None)
        if missing is not None:
            raise self._bad_row(row, missing)
        return [getattr(row, field.name) for field in self._fields]

    def _bad_row(self, row: Any, name: str) -> ElementError:
        return ElementError(
            "LOOKUP_RESULT",
            f"The lookup function {self._reference} returned {short_repr(row)}, which has no column '{name}'. Return it, too; "
            "the columns of the key show to which key a row belongs.",
        )


class PythonConnector:
    """Finds rows by a function of the user. The table cannot be read as a whole."""

    name = "python"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing."""
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        """Refuses to read."""
        raise ConfigError(
            "TABLE_LOOKUP_ONLY",
            f"{owner(request.path)}: a table of the connector 'python' cannot be read as a whole. Join it: JOIN "
            f"{request.path[-1]} FOR SYSTEM_TIME AS OF a.proctime AS d ON a.key = d.key, with proctime AS PROCTIME() in the table "
            "on the left side.",
        )

    def sink(self, request: SinkRequest) -> TableSink:
        """Refuses to write."""
        raise not_writable(self.name, request)

    def lookup(self, request: LookupRequest) -> LookupSource:
        """Returns a table that calls the function."""
        values = OptionValues(owner(request.path), self.name, request.options, PYTHON_OPTIONS)
        reference = values["lookup.function"]
        columns = [c.name for c in request.table.columns if c.kind == "physical"]
        table = FunctionTable(
            _imported(reference, values),
            reference,
            columns,
            request.columns,
            request.keys,
            request.timeout or _TIMEOUT,
            values["lookup.max-retries"],
        )
        return LookupSource(table, request.keys, cache_settings(values))


def _imported(reference: str, values: OptionValues) -> Any:
    """Imports 'module:function'."""
    module_name, colon, path = reference.partition(":")
    if not colon or not module_name or not path:
        raise values.error(f"Option 'lookup.function' is '{reference}'; expected 'module:function'.")
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise values.error(
            f"Option 'lookup.function' names the module '{module_name}', which cannot be imported: {error}. It must be on the "
            "Python path of the program and of all workers."
        ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise values.error(f"Option 'lookup.function': module '{module_name}' has no '{path}'.")
        found = getattr(found, name)
    if not callable(found):
        raise values.error(f"Option 'lookup.function': '{reference}' is {short_repr(found)}, which cannot be called.")
    return found
