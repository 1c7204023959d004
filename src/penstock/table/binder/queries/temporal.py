"""Binds FOR SYSTEM_TIME AS OF: temporal joins with a time of the left table, and old versions of tables at a constant time."""

from __future__ import annotations

import msgspec
from sqlglot import exp

from penstock.runtime.relational.expressions.compiler import Compiler, Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, columns_of
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.stage import Stage
from penstock.table.binder.queries.tables import Source
from penstock.table.binder.scope import Scope
from penstock.table.connectors.lookup.hint import hint_for, read_lookup_hint
from penstock.table.connectors.registry import find_lookup_connector, find_moment_option
from penstock.table.passes.lookup_keys import lookup_keys, lookup_right
from penstock.table.passes.merge_calcs import merge_calcs
from penstock.table.passes.recognition import real_type, recognise
from penstock.table.passes.rewriting import conjuncts
from penstock.table.relations import Join, LookupJoin, Relation, Scan, TemporalJoin
from penstock.table.traits import upsert_keys
from penstock.types.logical.kinds import RowType, TimestampType


def temporal_join(context: Context, left: Source, join: Relation, moment: exp.Expr, node: exp.Join) -> Relation:
    """Returns a join as a temporal or lookup join, after checking the times and keys that it needs."""
    assert isinstance(join, Join)
    if join.kind not in ("INNER", "LEFT"):
        raise context.refuse("SQL_TEMPORAL_JOIN", "A temporal join is an inner join or a LEFT JOIN.", node)
    time, event_time = _left_time(context, left, moment)
    if not event_time and (lookup := _lookup_join(context, join, node)) is not None:
        return lookup
    right_time = _rowtime(real_type(join.right))
    keys = sorted(map(sorted, upsert_keys(recognise(merge_calcs(join.right)))), key=lambda key: (len(key), key))
    if not keys:
        raise context.refuse(
            "SQL_TEMPORAL_JOIN",
            "A temporal join needs a primary key in the versioned table, but it has none. Declare PRIMARY KEY (...) NOT ENFORCED, "
            "or read a view that keeps the last row of a key: ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) = 1.",
            node.this,
        )
    if right_time is None and event_time:
        raise context.refuse(
            "SQL_TEMPORAL_JOIN",
            "A temporal join needs a primary key and an event-time attribute in the versioned table, but it has no event-time "
            "attribute. Declare a WATERMARK on the time of its versions.",
            node.this,
        )
    joined = _joined_columns(join)
    if not any(joined >= set(key) for key in keys):
        fields = join.right.row_type.fields
        key = ", ".join(fields[k].name for k in keys[0])
        raise context.refuse(
            "SQL_TEMPORAL_JOIN",
            f"A temporal join must compare the primary key ({key}) of the versioned table with columns of the left table in ON, "
            "by equality.",
            node,
        )
    return TemporalJoin(
        left=join.left,
        right=join.right,
        kind=join.kind,
        condition=join.condition,
        left_time=time,
        right_time=right_time if event_time and right_time is not None else -1,
        row_type=join.row_type,
        hints=join.hints,
    )


def _lookup_join(context: Context, join: Join, node: exp.Join) -> Relation | None:
    """Returns a join with a table that can be asked for the rows of a key; None for other tables."""
    relation = merge_calcs(join.right)
    right = lookup_right(relation)
    if right is None or find_lookup_connector(dict(right.scan.options)) is None:
        return None
    name = right.scan.path[-1]
    if not lookup_keys(join, right):
        raise context.refuse(
            "SQL_LOOKUP_JOIN",
            f"A lookup join must compare a column of '{name}' with a value of the left table in ON, by equality and with the same "
            f"type: ON a.id = d.id. Columns of '{name}': "
            f"{', '.join(f'{c.name} {c.type}' for c in right.scan.table.columns if c.kind == 'physical')}.",
            node,
        )
    hint = hint_for(context.hints, [node.this.alias_or_name, name])
    hints = tuple(h for h in join.hints if h[0] != "LOOKUP")
    if hint is not None:
        try:
            read_lookup_hint(hint)
        except ValueError as error:
            raise context.refuse("SQL_HINT", f"Wrong hint: {error}", node) from None
        hints = (*hints, ("LOOKUP", {**hint, "table": name}))
    return LookupJoin(
        left=join.left,
        right=relation,
        kind=join.kind,  # type: ignore[arg-type]
        condition=join.condition,
        row_type=join.row_type,
        hints=hints,
    )


def constant_moment(context: Context, node: exp.Expr) -> str | None:
    """Returns the time of FOR SYSTEM_TIME AS OF as text if it is a constant, which does not depend on another table."""
    version = node.args.get("version")
    if version is None or any(True for _ in version.expression.find_all(exp.Column)):
        return None
    moment = ExpressionBinder(Scope(), context.text, functions=context.lookup).bind(version.expression)
    if not isinstance(moment.type, TimestampType) or moment.type.attribute or not Compiler().compile(moment).constant:
        return None
    (column,) = Projection((moment,), Session(zone=context.settings.zone))((), 1)
    return None if column[0].as_py() is None else str(column[0].as_py().isoformat(" "))


def version_at(context: Context, relation: Relation, moment: str, node: exp.Expr) -> Relation:
    """Returns a table as it was at a moment."""
    option = find_moment_option(dict(relation.options)) if isinstance(relation, Scan) else None
    if option is None:
        raise context.refuse(
            "SQL_TIME_TRAVEL",
            f"'{node.name}' has no old versions that can be read with FOR SYSTEM_TIME AS OF. Tables of Spark in formats with "
            "versions, such as Delta and Iceberg, have them.",
            node,
        )
    assert isinstance(relation, Scan)
    options = {**dict(relation.options), option: moment}
    return msgspec.structs.replace(relation, options=tuple(options.items()))


def _left_time(context: Context, left: Source, node: exp.Expr) -> tuple[int, bool]:
    """The time attribute of the left side, and whether it is an event time."""
    moment = Stage(context, left.relation, left.scope).bind(node)
    type_ = real_type(left.relation).fields[moment.index].type if isinstance(moment, Column) else moment.type
    attribute = type_.attribute if isinstance(type_, TimestampType) else ""
    if isinstance(moment, Call) and moment.function == "PROCTIME":
        return -1, False
    if not isinstance(moment, Column) or not attribute:
        raise context.refuse(
            "SQL_TEMPORAL_JOIN",
            "FOR SYSTEM_TIME AS OF needs a time attribute of the left table: a column, not a value.",
            node,
        )
    return moment.index, attribute == "ROWTIME"


def _rowtime(row_type: RowType) -> int | None:
    for i, field in enumerate(row_type.fields):
        if isinstance(field.type, TimestampType) and field.type.attribute == "ROWTIME":
            return i
    return None


def _joined_columns(join: Join) -> set[int]:
    """The columns of the right side that the condition has equal to values of the left side."""
    width = len(join.left.row_type.fields)
    found: set[int] = set()
    for part in conjuncts(join.condition):
        if isinstance(part, Call) and part.function == "=":
            for one, other in (part.arguments, part.arguments[::-1]):
                if isinstance(one, Column) and one.index >= width and _is_left(other, width):
                    found.add(one.index - width)
    return found


def _is_left(expression: Expression, width: int) -> bool:
    columns = columns_of(expression)
    return bool(columns) and max(columns) < width
