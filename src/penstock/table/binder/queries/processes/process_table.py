"""Binds FROM f(input => TABLE t PARTITION BY k, on_time => DESCRIPTOR(ts), uid => 'x', n => 5)."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.building import row_type
from penstock.table.binder.queries.context import Context
from penstock.table.binder.scope import Scope
from penstock.table.binder.user_calls import user_function
from penstock.table.dialect import nodes
from penstock.table.relations import ProcessTable, Relation
from penstock.table.user_functions.process_table_function import ProcessTableFunctionWrapper
from penstock.types.logical.kinds import TimestampType


def called_process_function(context: Context, node: exp.Expr) -> ProcessTableFunctionWrapper | None:
    """Returns the process table function that an item of FROM calls, or None."""
    if not isinstance(node, nodes.TableFunction):
        return None
    found = user_function(context.lookup, node.this)
    return found if isinstance(found, ProcessTableFunctionWrapper) else None


def bind_process_table(context: Context, call: exp.Expr, function: ProcessTableFunctionWrapper) -> Relation:
    """Binds a call of a process table function."""
    return _Call(context, call, function).bind()


class _Call:
    def __init__(self, context: Context, call: exp.Expr, function: ProcessTableFunctionWrapper) -> None:
        self._context = context
        self._call = call
        self._function = function
        self._table: nodes.TableArgument | None = None
        self._time: nodes.Descriptor | None = None
        self._uid = ""
        self._arguments: list[tuple[str, Literal]] = []

    def bind(self) -> Relation:
        self._read()
        if self._table is None:
            raise self._refuse("needs a table: f(input => TABLE t PARTITION BY k)", self._call)
        relation = self._input(self._table.this)
        fields = relation.row_type.fields
        keys = tuple(self._column(relation, part) for part in self._table.args.get("partition_by") or ())
        if keys and self._function.semantics == "row":
            raise self._refuse("has row semantics, so that its table has no PARTITION BY", self._table)
        if self._table.args.get("order") is not None:
            raise self._refuse("takes its rows as they arrive, so that its table has no ORDER BY", self._table)
        names = [fields[k].name for k in keys] + [f.name for f in self._function.emitted.fields]
        types = [fields[k].type for k in keys] + [f.type for f in self._function.emitted.fields]
        time = -1
        if self._time is not None:
            time = self._column(relation, self._time.expressions[0])
            type_ = fields[time].type
            if not isinstance(type_, TimestampType) or type_.attribute != "ROWTIME":
                raise self._refuse(
                    f"needs a column with a watermark as on_time, and '{fields[time].name}' has none", self._time
                )
            names.append("rowtime")
            types.append(TimestampType(3, type_.local, "ROWTIME", nullable=type_.nullable))
        label = self._call.name or self._function.name
        return ProcessTable(
            input=relation,
            keys=keys,
            function=PythonFunction(label, self._function.payload(), deterministic=self._function.deterministic),
            emitted=self._function.emitted,
            arguments=tuple(self._arguments),
            time_column=time,
            hints=(("UID", (self._uid,)),) if self._uid else (),
            row_type=row_type(names, types),
        )

    def _refuse(self, problem: str, node: exp.Expr) -> Exception:
        return self._context.refuse(
            "SQL_FUNCTION", f"The process table function '{self._function.name}' {problem}.", node
        )

    def _read(self) -> None:
        parameters = list(inspect.signature(self._function.func.eval).parameters)[3:]
        for place, argument in enumerate(self._call.expressions):
            name, value = "", argument
            if isinstance(argument, nodes.NamedArgument):
                name, value = argument.this.name, argument.expression
            if isinstance(value, nodes.TableArgument):
                if self._table is not None:
                    raise self._refuse("takes one table", value)
                self._table = value
            elif name.lower() == "on_time":
                self._time = self._descriptor(value)
            elif name.lower() == "uid":
                self._uid = str(self._literal(value).value)
            elif name or place - 1 < len(parameters):
                self._arguments.append((name or parameters[place - 1], self._literal(value)))
            else:
                raise self._refuse(f"takes a table and {len(parameters)} arguments", argument)
        unknown = [name for name, _ in self._arguments if name not in parameters]
        if unknown:
            raise self._refuse(
                f"has no parameter '{unknown[0]}'. Its parameters are {', '.join(parameters)}", self._call
            )

    def _descriptor(self, node: exp.Expr) -> nodes.Descriptor:
        if not isinstance(node, nodes.Descriptor) or len(node.expressions) != 1:
            raise self._refuse("takes the time as on_time => DESCRIPTOR(column)", node)
        return node

    def _literal(self, node: exp.Expr) -> Literal:
        found = ExpressionBinder(Scope([]), self._context.text).bind(node)
        if not isinstance(found, Literal):
            raise self._refuse("takes constants besides its table", node)
        return found

    def _column(self, relation: Relation, node: Any) -> int:
        found = relation.row_type.index(node.name)
        if found is None:
            raise self._context.refuse("SQL_COLUMN", f"Column '{node.name}' not found in the table.", node)
        return found

    def _input(self, node: exp.Expr) -> Relation:
        from penstock.table.binder.queries.query import bind_nested
        from penstock.table.binder.queries.tables import bind_table_name

        if isinstance(node, exp.Table):
            return bind_table_name(self._context, node)[0]
        return bind_nested(replace(self._context.alone(), ctes=self._context.ctes), node)
