"""Removes time attributes that an operation has lost.

The schema that a program sees has Flink's types, in which `MAX(ts)` and a grouped `ts` still look like time attributes. Below this
pass only columns that follow the watermark (or are PROCTIME()) have them:

    Aggregate(keys=[ts *ROWTIME*])          Aggregate(keys=[ts])
      Scan(ts *ROWTIME*)              ->      Scan(ts *ROWTIME*)

Kept: columns that Calc, WindowAssign, Over, Sort, Rank, Deduplicate, WindowRank, Unnest and table functions pass on; window_time;
columns of UNION ALL that are time attributes in all inputs; columns of joins whose condition bounds the times of both sides. Lost:
everything that is computed, keys and results of Aggregate, columns of other joins.
"""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.table import relations as r
from penstock.table.passes.join_times import keeps_time
from penstock.table.passes.rewriting import substituted
from penstock.table.passes.traversal import bottom_up
from penstock.types.logical.kinds import Field, LogicalType, RowType, TimestampType


def materialize_time_attributes(relation: r.Relation) -> r.Relation:
    """Returns relations with the types that their columns really have."""
    return bottom_up(relation, _change)


def _change(relation: r.Relation) -> r.Relation:
    fields = relation.row_type.fields
    inputs = [i.row_type.fields for i in relation.inputs()]
    types: list[LogicalType]
    match relation:
        case r.Calc():
            return _calc(relation)
        case r.WindowAssign():
            types = [*_types(inputs[0]), *_types(fields[-3:])]
        case r.Over() | r.Rank() | r.Deduplicate() | r.WindowRank() | r.Expand() | r.Unnest() | r.TableFunctionCall():
            width = len(inputs[0])
            types = [*_types(inputs[0]), *(plain(f.type) for f in fields[width:])]
            if isinstance(relation, r.Expand):
                types = [plain(t) if i in relation.grouped else t for i, t in enumerate(types)]
                types = [t.with_nullable(f.type.nullable) for t, f in zip(types, fields, strict=True)]
        case r.Sort() | r.Normalize():
            types = _types(inputs[0])
        case r.ProcessTable():
            last = [fields[-1].type] if relation.time_column >= 0 else []
            types = [*(plain(f.type) for f in fields[: len(fields) - len(last)]), *last]
        case r.Sink():
            return relation  # writes what it was given
        case r.WindowAggregate():
            first = len(fields) - len(relation.properties)
            types = [plain(f.type) for f in fields]
            for i, property_ in enumerate(relation.properties):
                if property_ in ("time", "proctime"):
                    types[first + i] = _property(fields[first + i].type, property_, relation)
        case r.Match():
            types = [_measured(measure, f.type, relation) for measure, f in zip(relation.measures, fields, strict=True)]
        case r.Union():
            types = [_united([i[n].type for i in inputs], f.type) for n, f in enumerate(fields)]
        case r.Join() if keeps_time(relation):
            both = [*_types(inputs[0]), *_types(inputs[1])][: len(fields)]
            types = [t.with_nullable(f.type.nullable) for t, f in zip(both, fields, strict=True)]
        case r.TemporalJoin() | r.LookupJoin():
            width = len(inputs[0])
            types = [*_types(inputs[0]), *(plain(f.type) for f in fields[width:])]
        case r.Scan() | r.Values():
            return relation
        case _:
            types = [plain(f.type) for f in fields]
    return retyped(relation, types)


def _property(type_: LogicalType, property_: str, relation: r.WindowAggregate) -> LogicalType:
    """window_time of a window over processing time is a proctime, and so is TUMBLE_PROCTIME."""
    if property_ == "proctime":  # over a rowtime, it has the type of the rowtime in Flink
        return type_ if isinstance(type_, TimestampType) and type_.attribute == "PROCTIME" else plain(type_)
    if not isinstance(type_, TimestampType):
        return type_
    attribute = "ROWTIME" if relation.window.event_time else "PROCTIME"
    return TimestampType(type_.precision, type_.local, attribute, nullable=type_.nullable)  # type: ignore[arg-type]


def _measured(measure: Expression, type_: LogicalType, match: r.Match) -> LogicalType:
    """MATCH_ROWTIME and MATCH_PROCTIME are time attributes; a rowtime or proctime of a row of the match is none any more."""
    kind = match.navigations[measure.index].kind if isinstance(measure, Column) else ""
    return type_ if kind in ("ROWTIME", "PROCTIME") else plain(type_)


def _united(types: list[LogicalType], shown: LogicalType) -> LogicalType:
    first = types[0]
    if isinstance(first, TimestampType) and first.attribute and isinstance(shown, TimestampType):
        same = all(isinstance(t, TimestampType) and t.attribute == first.attribute for t in types)
        return msgspec.structs.replace(shown, attribute=first.attribute if same else "")
    return plain(shown)


def _calc(relation: r.Calc) -> r.Relation:
    below = relation.input.row_type.fields

    def change(column: Column) -> Expression:
        type_ = below[column.index].type
        return column if column.type == type_ else Column(column.index, type_, column.name)

    projections = tuple(_computed(substituted(p, change)) for p in relation.projections)
    condition = None if relation.condition is None else substituted(relation.condition, change)
    changed = msgspec.structs.replace(relation, projections=projections, condition=condition)
    return retyped(changed, [p.type for p in projections])


def _computed(expression: Expression) -> Expression:
    """A computed value is no time attribute, except PROCTIME()."""
    if isinstance(expression, Call) and expression.function != "PROCTIME" and plain(expression.type) != expression.type:
        return msgspec.structs.replace(expression, type=plain(expression.type))
    return expression


def plain(type_: LogicalType) -> LogicalType:
    """Returns a type without time attribute.

    >>> print(plain(TimestampType(3, attribute="ROWTIME")))
    TIMESTAMP(3)
    """
    if isinstance(type_, TimestampType) and type_.attribute:
        return TimestampType(type_.precision, type_.local, nullable=type_.nullable)
    return type_


def retyped(relation: r.Relation, types: list[LogicalType]) -> r.Relation:
    """Returns a relation with other types of columns."""
    fields = tuple(Field(f.name, t, f.description) for f, t in zip(relation.row_type.fields, types, strict=True))
    if fields == relation.row_type.fields:
        return relation
    return msgspec.structs.replace(relation, row_type=RowType(fields, nullable=False))


def _types(fields: tuple[Field, ...]) -> list[LogicalType]:
    return [f.type for f in fields]
