"""Builds relations with the types of their output."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.runtime.relational.expressions.tree import Column, Expression
from penstock.table.relations import Calc, Join, Relation
from penstock.types.logical.kinds import Field, LogicalType, RowType


def row_type(names: Sequence[str], types: Sequence[LogicalType]) -> RowType:
    """Returns the type of rows with these columns."""
    return RowType(tuple(Field(n, t) for n, t in zip(names, types, strict=True)), nullable=False)


def columns(relation: Relation) -> list[Column]:
    """Returns all columns of a relation as expressions."""
    return [Column(i, f.type, f.name) for i, f in enumerate(relation.row_type.fields)]


def project(relation: Relation, expressions: Sequence[Expression], names: Sequence[str]) -> Relation:
    """Returns a Calc that computes columns."""
    return Calc(
        input=relation,
        projections=tuple(expressions),
        row_type=row_type(names, [e.type for e in expressions]),
    )


def filter_rows(relation: Relation, condition: Expression) -> Relation:
    """Returns a Calc that keeps the columns and drops rows."""
    return Calc(input=relation, projections=tuple(columns(relation)), condition=condition, row_type=relation.row_type)


def extend(relation: Relation, expressions: Sequence[Expression]) -> tuple[Relation, list[int]]:
    """Makes sure that a relation has columns with these values. Returns it and their positions."""
    own: list[Expression] = list(columns(relation))
    names = [f.name for f in relation.row_type.fields]
    before = len(own)
    positions = []
    for expression in expressions:
        if isinstance(expression, Column):
            positions.append(expression.index)
            continue
        if expression not in own[before:]:
            own.append(expression)
            names.append(f"${len(names)}")
        positions.append(own.index(expression, before))
    return (relation if len(own) == before else project(relation, own, names)), positions


def rename(relation: Relation, names: Sequence[str]) -> Relation:
    """Returns a relation with other names of columns."""
    if [f.name for f in relation.row_type.fields] == list(names):
        return relation
    return project(relation, columns(relation), names)


def join(
    left: Relation,
    right: Relation,
    kind: str,
    condition: Expression | None,
    *,
    null_aware: bool = False,
    single: bool = False,
    hints: tuple[tuple[str, object], ...] = (),
) -> Relation:
    """Returns a join. The side that an outer join may not find is nullable."""
    fields = [Field(f.name, _nullable(f.type, kind in ("RIGHT", "FULL"))) for f in left.row_type.fields]
    if kind not in ("SEMI", "ANTI"):
        fields += [Field(f.name, _nullable(f.type, kind in ("LEFT", "FULL"))) for f in right.row_type.fields]
    return Join(
        left=left,
        right=right,
        kind=kind,  # type: ignore[arg-type]
        condition=condition,
        null_aware=null_aware,
        single=single,
        hints=hints,
        row_type=RowType(tuple(fields), nullable=False),
    )


def _nullable(type_: LogicalType, outer: bool) -> LogicalType:
    return type_.with_nullable(True) if outer else type_


def needed(relation: Relation, expressions: Sequence[Expression]) -> tuple[Relation, list[int]]:
    """Returns a relation with columns for these expressions, and their positions. It has no other columns if it computes some."""
    if all(isinstance(e, Column) for e in expressions):
        return relation, [e.index for e in expressions if isinstance(e, Column)]
    distinct = list(dict.fromkeys(expressions))
    names = [e.name if isinstance(e, Column) and e.name else f"${i}" for i, e in enumerate(distinct)]
    return project(relation, distinct, names), [distinct.index(e) for e in expressions]
