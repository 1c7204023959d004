"""A catalog in memory for tests of the binder: tables and views from CREATE statements, without connectors."""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.python_functions.function import AsyncLimits
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.insert import bind_insert
from penstock.table.binder.queries.lookup import BinderSettings, ResolvedTable, ResolvedView
from penstock.table.binder.queries.query import bind_query
from penstock.table.binder.scope import Scope
from penstock.table.binder.types import resolve_type
from penstock.table.catalog.table import CatalogTable, CatalogView, TableColumn
from penstock.table.dialect import parse_query, parse_statement
from penstock.table.dialect.statements.column import ComputedColumn, MetadataColumn, PhysicalColumn
from penstock.table.dialect.statements.create_table import CreateTable
from penstock.table.dialect.statements.insert import Insert
from penstock.table.dialect.statements.view import CreateView
from penstock.table.relations import Relation, Sink
from penstock.types.logical.kinds import TimestampType

_PATH = ("default_catalog", "default_database")


class MemoryCatalog:
    """Implements TableLookup."""

    def __init__(self, *statements: str, settings: BinderSettings | None = None) -> None:
        self._objects: dict[str, ResolvedTable | ResolvedView] = {}
        self.settings = settings or BinderSettings()
        for statement in statements:
            self.execute(statement)

    def find_table(self, parts: tuple[str, ...]) -> ResolvedTable | ResolvedView | None:
        return self._objects.get(parts[-1]) if _PATH[3 - len(parts) :] == parts[:-1] else None

    def table_names(self) -> list[str]:
        return list(self._objects)

    def find_function(self, name: str, path: tuple[str, ...] = (), in_from: bool = False) -> None:
        return None

    def function_names(self) -> list[str]:
        return []

    def async_limits(self) -> AsyncLimits:
        return AsyncLimits()

    def query(self, text: str) -> Relation:
        """Binds a query."""
        return bind_query(parse_query(text), text, self, self.settings)

    def insert(self, text: str) -> Sink:
        """Binds an INSERT."""
        statement = parse_statement(text)
        assert isinstance(statement, Insert)
        return bind_insert(statement, self, self.settings, text)

    def execute(self, text: str) -> None:
        """Adds the table or view of a CREATE statement."""
        statement = parse_statement(text)
        if isinstance(statement, CreateTable):
            self._objects[statement.name.name] = ResolvedTable((*_PATH, statement.name.name), _table(statement, text))
        else:
            assert isinstance(statement, CreateView)
            query = statement.query
            row_type = bind_query(query.query, text, self, self.settings).row_type
            view = CatalogView(query.text, query.text, row_type)
            self._objects[statement.name.name] = ResolvedView((*_PATH, statement.name.name), view)


def _table(statement: CreateTable, text: str) -> CatalogTable:
    schema = statement.schema
    physical = [(c.name[0], resolve_type(c.type)) for c in schema.columns if isinstance(c, PhysicalColumn)]
    columns = []
    for column in schema.columns:
        name = column.name[0]
        if isinstance(column, PhysicalColumn):
            columns.append(TableColumn(name, resolve_type(column.type)))
        elif isinstance(column, ComputedColumn):
            bound = ExpressionBinder(Scope.of(physical), text).bind(column.expression)
            columns.append(TableColumn(name, bound.type, "computed", bound, column.text))
        elif isinstance(column, MetadataColumn):
            columns.append(TableColumn(name, resolve_type(column.type), "metadata", virtual=column.virtual))
    if schema.watermark is not None:
        position = [c.name for c in columns].index(schema.watermark.column[0])
        rowtime = columns[position].type
        assert isinstance(rowtime, TimestampType)
        columns[position] = msgspec.structs.replace(
            columns[position], type=msgspec.structs.replace(rowtime, attribute="ROWTIME")
        )
    keys = [name for constraint in schema.constraints if not constraint.unique for name in constraint.columns]
    return CatalogTable(tuple(columns), partition_keys=statement.partitioned_by, primary_key=tuple(keys))
