"""Recognises aggregates per window.

    Aggregate(keys=[window_start, window_end, k], COUNT(*))      Calc(window_start, window_end, k, count)
      WindowAssign(TUMBLE(ts, 10 s))                        ->     WindowAggregate(keys=[k], COUNT(*), TUMBLE(ts, 10 s), start, end)
        Scan                                                         Scan

An Aggregate whose input has window columns of another window operator becomes a WindowAggregate that reads these columns:

    Aggregate(keys=[window_start, window_end], SUM(n))           Calc(window_start, window_end, sum)
      WindowAggregate(...)                                  ->     WindowAggregate(keys=[], SUM(n), start_column=.., end_column=..)
                                                                     WindowAggregate(...)

A legacy group window becomes a WindowAggregate with `legacy`.
"""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.expressions.tree import Column, Expression, columns_of
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.window import Window
from penstock.table import relations as r
from penstock.table.passes.window_columns import WindowColumns, window_columns
from penstock.types.logical.kinds import Field, RowType


def window_aggregate(relation: r.Relation) -> r.Relation:
    """Replaces an Aggregate over windows by a WindowAggregate."""
    if not isinstance(relation, r.Aggregate):
        return relation
    if relation.group_window is not None:
        return r.WindowAggregate(
            input=relation.input,
            keys=relation.keys,
            calls=relation.calls,
            window=relation.group_window,
            properties=relation.properties,
            legacy=True,
            row_type=relation.row_type,
            hints=relation.hints,
        )
    found = window_columns(relation.input)
    if found is None or found.start not in relation.keys or found.end not in relation.keys:
        return relation
    return _window_aggregate(relation, found)


def _window_aggregate(relation: r.Aggregate, found: WindowColumns) -> r.Relation:
    special = {found.start: "start", found.end: "end"}
    if found.time >= 0:
        special[found.time] = "time"
    keys = tuple(k for k in relation.keys if k not in special)
    properties = tuple(special[k] for k in relation.keys if k in special)
    assigned = _assigned(relation, keys, found)
    if assigned is None and found.window.kind == "SESSION" and _is_assigned_here(relation.input):
        return relation  # sessions of other keys than those of the aggregate: Flink groups by their columns, too
    if assigned is not None:
        source, window, positions = assigned
        start, end = -1, -1
    else:
        source, positions = relation.input, {i: i for i in range(len(relation.input.row_type.fields))}
        window = msgspec.structs.replace(found.window, time_column=-1, partition=())
        start, end = found.start, found.end
    fields = relation.row_type.fields
    by_key = dict(zip(relation.keys, fields, strict=False))
    count = len(relation.keys)
    own = [by_key[k] for k in keys]
    output = [*own, *fields[count:], *(by_key[k] for k in relation.keys if k in special)]
    aggregate = r.WindowAggregate(
        input=source,
        keys=tuple(positions[k] for k in keys),
        calls=tuple(moved_call(c, positions) for c in relation.calls),
        window=window,
        properties=properties,  # type: ignore[arg-type]
        start_column=start,
        end_column=end,
        row_type=RowType(tuple(output), nullable=False),
        hints=relation.hints,
    )
    return _in_old_order(relation, aggregate, keys, special)


def _in_old_order(
    relation: r.Aggregate, aggregate: r.WindowAggregate, keys: tuple[int, ...], special: dict[int, str]
) -> r.Relation:
    fields = aggregate.row_type.fields
    calls = len(aggregate.calls)
    order = []
    for k in relation.keys:
        if k in special:
            order.append(len(keys) + calls + aggregate.properties.index(special[k]))
        else:
            order.append(keys.index(k))
    order += range(len(keys), len(keys) + calls)
    if order == list(range(len(fields))):
        return aggregate
    projections = tuple(Column(i, fields[i].type, fields[i].name) for i in order)
    return r.Calc(input=aggregate, projections=projections, row_type=relation.row_type)


def _assigned(
    relation: r.Aggregate, keys: tuple[int, ...], found: WindowColumns
) -> tuple[r.Relation, Window, dict[int, int]] | None:
    """Returns the input below the window table function, the window over it, and where the columns are. None if it must stay."""
    calc = relation.input if isinstance(relation.input, r.Calc) else None
    assign = calc.input if calc is not None else relation.input
    if not isinstance(assign, r.WindowAssign):
        return None
    width = len(assign.input.row_type.fields)
    used = {*keys, *(c for call in relation.calls for c in call_columns(call))}
    projections: list[Expression] = list(calc.projections) if calc is not None else _columns(assign)
    condition = None if calc is None else calc.condition
    needed = [projections[i] for i in sorted(used)]
    # Conditions and values that depend on the window are computed between the two.
    if any(c >= width for c in columns_of(*needed, *([] if condition is None else [condition]))):
        return None
    if assign.window.kind == "SESSION" and not _same_session_keys(assign.window, [projections[k] for k in keys]):
        return None
    if calc is None:
        return assign.input, assign.window, {i: i for i in range(width)}
    time = assign.input.row_type.fields[assign.window.time_column]
    time_column = Column(assign.window.time_column, time.type, time.name)
    outputs = [*needed] if time_column in needed else [*needed, time_column]
    names = [calc.row_type.fields[i] for i in sorted(used)]
    fields = [*names] if len(outputs) == len(names) else [*names, Field(time.name, time.type)]
    below = r.Calc(
        input=assign.input,
        projections=tuple(outputs),
        condition=condition,
        row_type=RowType(tuple(fields), nullable=False),
    )
    positions = {old: new for new, old in enumerate(sorted(used))}
    window = msgspec.structs.replace(assign.window, time_column=outputs.index(time_column), partition=())
    if assign.window.kind == "SESSION":
        window = msgspec.structs.replace(window, partition=tuple(positions[k] for k in keys))
    return below, window, positions


def _is_assigned_here(relation: r.Relation) -> bool:
    while isinstance(relation, r.Calc | r.Expand):
        relation = relation.input
    return isinstance(relation, r.WindowAssign)


def _same_session_keys(window: Window, keys: list[Expression]) -> bool:
    return {k.index for k in keys if isinstance(k, Column)} == set(window.partition) and all(
        isinstance(k, Column) for k in keys
    )


def _columns(relation: r.Relation) -> list[Expression]:
    return [Column(i, f.type, f.name) for i, f in enumerate(relation.row_type.fields)]


def call_columns(call: AggregateCall) -> list[int]:
    """Returns the columns that a call reads."""
    found = [*call.arguments, *(k.column for k in call.order)]
    return found if call.filter is None else [*found, call.filter]


def moved_call(call: AggregateCall, positions: dict[int, int]) -> AggregateCall:
    """Returns a call with its columns at other positions."""
    return msgspec.structs.replace(
        call,
        arguments=tuple(positions[a] for a in call.arguments),
        filter=None if call.filter is None else positions[call.filter],
        order=tuple(SortKey(positions[k.column], k.ascending, k.nulls_first) for k in call.order),
    )
