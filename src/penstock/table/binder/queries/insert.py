"""Binds INSERT: finds the sink, brings the columns of the query into its order, and converts them to its types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Column, Expression, Literal
from penstock.table.binder.conversions import convert
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.implicit_casts import is_assignable
from penstock.table.binder.queries.lookup import BinderSettings, ResolvedTable, ResolvedView, TableLookup
from penstock.table.binder.queries.query import bind_query
from penstock.table.binder.queries.tables import read_hints
from penstock.table.binder.scope import Scope
from penstock.table.catalog.table import TableColumn
from penstock.table.dialect.excerpt import excerpt
from penstock.table.dialect.statements.insert import Insert
from penstock.table.functions.catalogue import closest
from penstock.table.passes.time_attributes import plain
from penstock.table.relations import Relation, Sink
from penstock.types.logical.kinds import LogicalType
from penstock.types.logical.text import summary


def bind_insert(statement: Insert, lookup: TableLookup, settings: BinderSettings, text: str = "") -> Sink:
    """Returns the sink of an INSERT. `text` is the whole statement, for excerpts in errors."""
    return _Insert(statement, lookup, settings, text).bind()


def bind_sink(relation: Relation, found: ResolvedTable, settings: BinderSettings, lookup: TableLookup) -> Sink:
    """Returns the sink that writes a relation to all columns of a table, as CREATE TABLE AS and Table.insert_into do."""
    context = Context("", lookup, settings)
    columns = found.table.sink_columns
    return _sink(context, relation, found, _Assigned(columns, list(building.columns(relation))), 0, 0)


class _Assigned:
    """Columns of the sink, and the value of each. A missing value is NULL."""

    def __init__(self, columns: Sequence[TableColumn], values: Sequence[Expression | None]) -> None:
        self.columns = tuple(columns)
        self.values = list(values)


class _Insert:
    def __init__(self, statement: Insert, lookup: TableLookup, settings: BinderSettings, text: str) -> None:
        self._statement = statement
        self._lookup = lookup
        self._settings = settings
        self._text = text
        self._context = Context(text, lookup, settings)

    def bind(self) -> Sink:
        statement = self._statement
        found = self._target()
        if statement.overwrite and self._settings.streaming:
            raise self._refuse(
                "SQL_SINK", "Streaming mode does not support INSERT OVERWRITE. Use INSERT INTO, or batch mode."
            )
        relation = bind_query(statement.query.query, self._text or statement.query.text, self._lookup, self._settings)
        fixed = self._fixed(found)
        assigned = self._assign(found, relation, fixed)
        name = statement.table
        sink = _sink(self._context, relation, found, assigned, name.line, name.column)
        options = dict(found.table.options)
        hints = read_hints(self._context, statement.hints)
        for hint, value in hints:
            if hint == "OPTIONS":
                options.update(value)
        partition = tuple((p, _plain_value(v)) for p, v in fixed.items())
        return Sink(
            input=sink.input,
            target=found.table,
            path=found.path,
            options=tuple(options.items()),
            overwrite=statement.overwrite,
            partition=partition,
            conflict=statement.conflict or "",
            row_type=sink.row_type,
            hints=tuple(hints),
        )

    def _refuse(self, code: str, message: str, line: int = 0, column: int = 0) -> SqlValidationError:
        return _refused(
            code, message, line or self._statement.table.line, column or self._statement.table.column, self._text
        )

    def _target(self) -> ResolvedTable:
        name = self._statement.table
        found = self._lookup.find_table(name.parts)
        if isinstance(found, ResolvedView):
            raise self._refuse("SQL_SINK", f"'{name}' is a view, and INSERT writes to tables only.")
        if found is None:
            near = closest(name.name, self._lookup.table_names())
            hint = f" Did you mean '{near}'?" if near else " SHOW TABLES lists all tables."
            raise self._refuse("SQL_TABLE", f"Cannot find table '{name}'.{hint}")
        return found

    def _fixed(self, found: ResolvedTable) -> dict[str, Expression]:
        """The values of PARTITION (...), with the types of their columns."""
        values: dict[str, Expression] = {}
        binder = ExpressionBinder(Scope(), self._text)
        by_name = {c.name: c for c in found.table.sink_columns}
        for part in self._statement.partition:
            column = by_name.get(part.column)
            if column is None:
                raise self._unknown(part.column, list(by_name), part.line, part.column_number)
            if part.column not in found.table.partition_keys:
                keys = ", ".join(found.table.partition_keys)
                raise self._refuse(
                    "SQL_SINK",
                    f"Static partition column '{part.column}' should be in the partition keys list [{keys}] for table "
                    f"'{'.'.join(found.path)}'.",
                    part.line,
                    part.column_number,
                )
            value = binder.bind(part.value)  # type: ignore[arg-type]
            target = plain(column.type)
            same = value.type.with_nullable(True) == target.with_nullable(True)
            values[part.column] = value if same else convert(value, target.with_nullable(value.type.nullable))
        return values

    def _unknown(self, name: str, known: list[str], line: int = 0, column: int = 0) -> SqlValidationError:
        near = closest(name, known)
        hint = f" Did you mean '{near}'?" if near else ""
        return self._refuse("SQL_COLUMN", f"Unknown target column '{name}'.{hint}", line, column)

    def _assign(self, found: ResolvedTable, relation: Relation, fixed: dict[str, Expression]) -> _Assigned:
        sink = found.table.sink_columns
        columns: list[Expression] = list(building.columns(relation))
        if self._statement.columns:
            return self._assign_listed(found, columns, fixed)
        free = [c for c in sink if c.name not in fixed]
        if len(free) != len(columns):
            shown = _query_schema(relation)
            shown += [f"{name}: {summary(value.type)}" for name, value in fixed.items()]
            raise self._refuse("SQL_SINK", _mismatch(found, "Different number of columns.", shown))
        given = iter(columns)
        return _Assigned(sink, [fixed[c.name] if c.name in fixed else next(given) for c in sink])

    def _assign_listed(
        self, found: ResolvedTable, columns: list[Expression], fixed: dict[str, Expression]
    ) -> _Assigned:
        sink = found.table.sink_columns
        names = [".".join(parts) for parts in self._statement.columns]
        known = {c.name: c for c in sink}
        for i, name in enumerate(names):
            if name not in known:
                raise self._unknown(name, list(known))
            if name in names[:i] or name in fixed:
                raise self._refuse("SQL_COLUMN", f"Target column '{name}' is assigned more than once.")
        if len(names) != len(columns):
            raise self._refuse(
                "SQL_COLUMN",
                f"Number of columns must match number of query columns: {len(names)} target columns, and the query has "
                f"{len(columns)}.",
            )
        given: dict[str, Expression] = {**dict(zip(names, columns, strict=True)), **fixed}
        for column in sink:
            if column.name not in given and not column.type.nullable:
                raise self._refuse(
                    "SQL_COLUMN", f"Column '{column.name}' has no default value and does not allow NULLs."
                )
        return _Assigned(sink, [given.get(c.name) for c in sink])


def _sink(
    context: Context, relation: Relation, found: ResolvedTable, assigned: _Assigned, line: int, column: int
) -> Sink:
    expressions: list[Expression] = []
    if len(assigned.columns) != len(assigned.values):
        cause = _mismatch(found, "Different number of columns.", _query_schema(relation))
        raise _refused("SQL_SINK", cause, line, column, context.text)
    for position, (target, value) in enumerate(zip(assigned.columns, assigned.values, strict=True)):
        wanted = plain(target.type)
        if value is None:
            expressions.append(Literal(None, wanted))
            continue
        if not is_assignable(plain(value.type), wanted):
            cause = (
                f"Incompatible types for sink column '{target.name}' at position {position + 1}: the query has "
                f"{summary(value.type)}, and the sink {summary(wanted)}."
            )
            raise _refused("SQL_SINK", _mismatch(found, cause, _query_schema(relation)), line, column, context.text)
        expressions.append(_converted(value, wanted))
    names = [c.name for c in assigned.columns]
    source = relation
    same = expressions == building.columns(relation) and names == [f.name for f in relation.row_type.fields]
    if not same:
        source = building.project(relation, expressions, names)
    return Sink(input=source, target=found.table, path=found.path, row_type=source.row_type)


def _converted(value: Expression, wanted: LogicalType) -> Expression:
    """Casts a value. A time attribute that is written stays one until then, so that the sink knows its rowtime."""
    if plain(value.type).with_nullable(True) == wanted.with_nullable(True):
        return value
    return convert(value, wanted.with_nullable(value.type.nullable))


def _query_schema(relation: Relation) -> list[str]:
    return [f"{f.name}: {summary(f.type)}" for f in relation.row_type.fields]


def _mismatch(found: ResolvedTable, cause: str, query: list[str]) -> str:
    sink = ", ".join(f"{c.name}: {summary(plain(c.type))}" for c in found.table.sink_columns)
    return (
        f"Column types of query result and sink for '{'.'.join(found.path)}' do not match.\nCause: {cause}\n\n"
        f"Query schema: [{', '.join(query)}]\nSink schema:  [{sink}]"
    )


def _refused(code: str, message: str, line: int, column: int, text: str) -> SqlValidationError:
    if not line:
        return SqlValidationError(code, message)
    shown = f"\n{excerpt(text, line, column)}" if text else ""
    return SqlValidationError(code, f"{message} (line {line}, column {column}){shown}", line, column)


def _plain_value(value: Expression) -> Any:
    while not isinstance(value, Literal | Column) and value.arguments:
        value = value.arguments[0]
    return value.value if isinstance(value, Literal) else None
