"""Rows that are expressions: `from_elements([row(1, "a"), row(2, "b")])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from sqlglot import exp

from penstock.errors import PlanError
from penstock.table.api.operands import nodes_of
from penstock.table.binder.queries import building
from penstock.table.binder.queries.values import fitted
from penstock.table.data_types import DataType
from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase
from penstock.table.relations import Relation
from penstock.types.logical.kinds import RowType

if TYPE_CHECKING:
    from penstock.table.environment.session import Session


def are_expressions(elements: Sequence[Any]) -> bool:
    """Whether elements are expressions. Some alone must not be."""
    found = [isinstance(element, ExpressionBase) for element in elements]
    if any(found) and not all(found):
        raise ValueError(
            "Some elements are expressions and others are values. Use lit() or row() for all of them, or for none."
        )
    return any(found)


def expression_rows(session: Session, elements: Sequence[Any], schema: Any) -> Relation:
    """Returns the relation of rows that are expressions."""
    rows = [exp.Tuple(expressions=_values(node)) for node in nodes_of(elements)]
    relation = session.bind(exp.Values(expressions=rows), "")
    width = len(relation.row_type.fields)
    names = [f"f{i}" for i in range(width)]
    if schema is None:
        return building.rename(relation, names)
    if isinstance(schema, list | tuple):
        names, types = list(schema), [field.type for field in relation.row_type.fields]
    elif isinstance(schema, DataType) and isinstance(schema.logical, RowType):
        names = [field.name for field in schema.logical.fields]
        types = [field.type for field in schema.logical.fields]
    elif isinstance(schema, DataType):
        types = [schema.logical]
    else:
        raise PlanError("TABLE_SCHEMA", f"A schema is DataTypes.ROW([...]) or a list of column names, not {schema!r}.")
    if not len(names) == len(types) == width:
        raise PlanError("TABLE_SCHEMA", f"The rows have {width} columns, and the schema has {len(types)}.")
    columns = building.columns(relation)
    found = building.project(relation, [fitted(c, t) for c, t in zip(columns, types, strict=True)], names)
    return msgspec.structs.replace(found, row_type=building.row_type(names, types))


def _values(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, nodes.RowConstructor) else [node]
