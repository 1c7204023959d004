"""Removes columns that nothing reads.

    Calc(a)                         Calc(a)
      Aggregate(a, SUM(b), MAX(c))    Aggregate(a)
        Scan(a, b, c, d)        ->      Calc(a)
                                          Scan(a, b, c, d)

The type of a Scan stays; the Calc above it selects the columns that the decoder reads. The output of the whole query stays as well.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.runtime.relational.expressions.tree import Column, columns_of
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import OverCall
from penstock.table import relations as r
from penstock.table.passes.rewriting import moved
from penstock.table.passes.windows import call_columns, moved_call
from penstock.types.logical.kinds import RowType

_Places = dict[int, int]


def prune_columns(relation: r.Relation) -> r.Relation:
    """Removes unused columns from all inputs."""
    found, places = _prune(relation, range(len(relation.row_type.fields)))
    assert all(old == new for old, new in places.items())
    return found


def _prune(relation: r.Relation, used: Iterable[int]) -> tuple[r.Relation, _Places]:
    """Returns a relation with at least the used columns, in their order, and where they are now."""
    wanted = sorted(set(used)) or [0]  # rows without columns could not be counted
    match relation:
        case r.Scan():
            return _only(relation, wanted)
        case r.Values():
            return relation, {i: i for i in range(len(relation.row_type.fields))}
        case r.Calc():
            return _calc(relation, wanted)
        case r.Aggregate():
            return _aggregate(relation, wanted)
        case r.TableAggregate():
            return _table_aggregate(relation)
        case r.WindowAggregate():
            return _window_aggregate(relation, wanted)
        case r.WindowAssign():
            return _window_assign(relation, wanted)
        case r.Over():
            return _over(relation, wanted)
        case r.Rank() | r.Deduplicate() | r.WindowRank():
            return _rank(relation, wanted)
        case r.Join() | r.TemporalJoin() | r.LookupJoin():
            return _join(relation, wanted)
        case r.Union():
            return _union(relation, wanted)
        case r.Sort():
            child, places = _prune(relation.input, [*wanted, *(k.column for k in relation.order)])
            order = _order(relation.order, places)
            return msgspec.structs.replace(relation, input=child, order=order, row_type=child.row_type), places
        case r.Expand():
            return _expand(relation, wanted)
        case r.Unnest() | r.TableFunctionCall():
            return _unnest(relation, wanted)
    inputs = []
    for child in relation.inputs():  # SetOperation, Normalize and Sink need whole rows
        inputs.append(_whole(child))
    return relation.with_inputs(*inputs), {i: i for i in range(len(relation.row_type.fields))}


def _whole(relation: r.Relation) -> r.Relation:
    found, _ = _prune(relation, range(len(relation.row_type.fields)))
    return found


def _kept(row_type: RowType, positions: Iterable[int]) -> RowType:
    return RowType(tuple(row_type.fields[i] for i in positions), nullable=False)


def _only(relation: r.Relation, wanted: list[int]) -> tuple[r.Relation, _Places]:
    """Returns a Calc with the wanted columns above a relation."""
    fields = relation.row_type.fields
    if len(wanted) == len(fields):
        return relation, {i: i for i in wanted}
    columns = tuple(Column(i, fields[i].type, fields[i].name) for i in wanted)
    calc = r.Calc(input=relation, projections=columns, row_type=_kept(relation.row_type, wanted))
    return calc, {old: new for new, old in enumerate(wanted)}


def _exactly(relation: r.Relation, wanted: list[int]) -> r.Relation:
    """Returns a relation with the wanted columns and no others."""
    child, places = _prune(relation, wanted)
    if [places[w] for w in wanted] == list(range(len(child.row_type.fields))):
        return child
    found, _ = _only(child, [places[w] for w in wanted])
    return found


def _calc(calc: r.Calc, wanted: list[int]) -> tuple[r.Relation, _Places]:
    projections = [calc.projections[i] for i in wanted]
    condition = [] if calc.condition is None else [calc.condition]
    needed = columns_of(*projections, *condition)
    child: r.Relation = calc.input
    if isinstance(child, r.Scan):
        places = {i: i for i in range(len(child.row_type.fields))}
    else:
        child, places = _prune(child, needed)
    changed = msgspec.structs.replace(
        calc,
        input=child,
        projections=tuple(moved(p, places) for p in projections),
        condition=None if calc.condition is None else moved(calc.condition, places),
        row_type=_kept(calc.row_type, wanted),
    )
    return changed, {old: new for new, old in enumerate(wanted)}


def _order(order: tuple[SortKey, ...], places: _Places) -> tuple[SortKey, ...]:
    return tuple(SortKey(places[k.column], k.ascending, k.nulls_first) for k in order)


def _aggregate(relation: r.Aggregate, wanted: list[int]) -> tuple[r.Relation, _Places]:
    keys = len(relation.keys)
    count = len(relation.calls)
    kept = [i for i in range(count) if keys + i in wanted]
    properties = [i for i in range(len(relation.properties)) if keys + count + i in wanted]
    if not kept and not keys and not properties:
        kept = [0]
    calls = [relation.calls[i] for i in kept]
    needed = [*relation.keys, *(c for call in calls for c in call_columns(call))]
    window = relation.group_window
    if window is not None:
        needed.append(window.time_column)
    child, places = _prune(relation.input, needed)
    output = [*range(keys), *(keys + i for i in kept), *(keys + count + i for i in properties)]
    changed = msgspec.structs.replace(
        relation,
        input=child,
        keys=tuple(places[k] for k in relation.keys),
        calls=tuple(moved_call(c, places) for c in calls),
        group_window=None
        if window is None
        else msgspec.structs.replace(window, time_column=places[window.time_column]),
        properties=tuple(relation.properties[i] for i in properties),
        row_type=_kept(relation.row_type, output),
    )
    return changed, {old: new for new, old in enumerate(output)}


def _table_aggregate(relation: r.TableAggregate) -> tuple[r.Relation, _Places]:
    """Keeps all columns of the rows, because the function emits them together."""
    child, places = _prune(relation.input, [*relation.keys, *call_columns(relation.call)])
    changed = msgspec.structs.replace(
        relation,
        input=child,
        keys=tuple(places[k] for k in relation.keys),
        call=moved_call(relation.call, places),
    )
    return changed, {i: i for i in range(len(relation.row_type.fields))}


def _window_aggregate(relation: r.WindowAggregate, wanted: list[int]) -> tuple[r.Relation, _Places]:
    keys = len(relation.keys)
    count = len(relation.calls)
    kept = [i for i in range(count) if keys + i in wanted]
    properties = [i for i in range(len(relation.properties)) if keys + count + i in wanted]
    if not kept and not keys and not properties:
        properties = [0] if relation.properties else []
        kept = [] if properties else [0]
    calls = [relation.calls[i] for i in kept]
    window = relation.window
    needed = [*relation.keys, *(c for call in calls for c in call_columns(call)), *window.partition]
    needed += [c for c in (window.time_column, relation.start_column, relation.end_column) if c >= 0]
    child, places = _prune(relation.input, needed)
    places = {**places, -1: -1}
    output = [*range(keys), *(keys + i for i in kept), *(keys + count + i for i in properties)]
    changed = msgspec.structs.replace(
        relation,
        input=child,
        keys=tuple(places[k] for k in relation.keys),
        calls=tuple(moved_call(c, places) for c in calls),
        window=msgspec.structs.replace(
            window,
            time_column=places[window.time_column],
            partition=tuple(places[p] for p in window.partition),
        ),
        start_column=places[relation.start_column],
        end_column=places[relation.end_column],
        properties=tuple(relation.properties[i] for i in properties),
        row_type=_kept(relation.row_type, output),
    )
    return changed, {old: new for new, old in enumerate(output)}


def _window_assign(relation: r.WindowAssign, wanted: list[int]) -> tuple[r.Relation, _Places]:
    width = len(relation.input.row_type.fields)
    window = relation.window
    child, places = _prune(relation.input, [*(w for w in wanted if w < width), window.time_column, *window.partition])
    new_width = len(child.row_type.fields)
    output = {**places, **{width + i: new_width + i for i in range(3)}}
    changed = msgspec.structs.replace(
        relation,
        input=child,
        window=msgspec.structs.replace(
            window, time_column=places[window.time_column], partition=tuple(places[p] for p in window.partition)
        ),
        row_type=RowType((*child.row_type.fields, *relation.row_type.fields[width:]), nullable=False),
    )
    return changed, output


def _over(relation: r.Over, wanted: list[int]) -> tuple[r.Relation, _Places]:
    width = len(relation.input.row_type.fields)
    kept = [i for i in range(len(relation.calls)) if width + i in wanted]
    if not kept:
        return _prune(relation.input, [w for w in wanted if w < width])
    calls = [relation.calls[i] for i in kept]
    needed = [*(w for w in wanted if w < width), *relation.partition, *(k.column for k in relation.order)]
    needed += [c for call in calls for c in call_columns(call.call)]
    child, places = _prune(relation.input, needed)
    new_width = len(child.row_type.fields)
    changed = msgspec.structs.replace(
        relation,
        input=child,
        partition=tuple(places[p] for p in relation.partition),
        order=_order(relation.order, places),
        calls=tuple(OverCall(moved_call(c.call, places), c.mode, c.lower, c.upper) for c in calls),
        row_type=RowType(
            (*child.row_type.fields, *(relation.row_type.fields[width + i] for i in kept)), nullable=False
        ),
    )
    return changed, {**places, **{width + i: new_width + n for n, i in enumerate(kept)}}


def _rank(relation: r.Rank | r.Deduplicate | r.WindowRank, wanted: list[int]) -> tuple[r.Relation, _Places]:
    width = len(relation.input.row_type.fields)
    ranked = relation.outputs_rank and width in wanted
    needed = [*(w for w in wanted if w < width), *relation.partition]
    if isinstance(relation, r.Deduplicate):
        needed.append(relation.time_column)
    else:
        needed += [k.column for k in relation.order]
    if isinstance(relation, r.WindowRank):
        needed += [relation.start_column, relation.end_column]
    child, places = _prune(relation.input, needed)
    new_width = len(child.row_type.fields)
    rank = (relation.row_type.fields[width],) if ranked else ()
    changes: dict[str, object] = {
        "input": child,
        "partition": tuple(places[p] for p in relation.partition),
        "outputs_rank": ranked,
        "row_type": RowType((*child.row_type.fields, *rank), nullable=False),
    }
    if isinstance(relation, r.Deduplicate):
        changes["time_column"] = places[relation.time_column]
    else:
        changes["order"] = _order(relation.order, places)
    if isinstance(relation, r.WindowRank):
        changes["start_column"] = places[relation.start_column]
        changes["end_column"] = places[relation.end_column]
    changed = msgspec.structs.replace(relation, **changes)
    return changed, {**places, width: new_width} if ranked else places


def _join(relation: r.Join | r.TemporalJoin | r.LookupJoin, wanted: list[int]) -> tuple[r.Relation, _Places]:
    width = len(relation.left.row_type.fields)
    needed = {*wanted, *([] if relation.condition is None else columns_of(relation.condition))}
    if isinstance(relation, r.TemporalJoin) and relation.right_time >= 0:
        needed |= {relation.left_time, width + relation.right_time}
    left, left_places = _prune(relation.left, [n for n in needed if n < width])
    right, right_places = _prune(relation.right, [n - width for n in needed if n >= width])
    new_width = len(left.row_type.fields)
    places = {**left_places, **{width + old: new_width + new for old, new in right_places.items()}}
    fields = relation.row_type.fields
    kept = sorted((new, old) for old, new in places.items() if old < len(fields))
    changed = msgspec.structs.replace(
        relation,
        left=left,
        right=right,
        condition=None if relation.condition is None else moved(relation.condition, places),
        row_type=_kept(relation.row_type, [old for _, old in kept]),
    )
    if isinstance(changed, r.TemporalJoin) and changed.right_time >= 0:
        times = {"left_time": left_places[changed.left_time], "right_time": right_places[changed.right_time]}
        changed = msgspec.structs.replace(changed, **times)
    elif isinstance(changed, r.TemporalJoin):
        changed = msgspec.structs.replace(changed, left_time=-1)  # a processing time is not read
    return changed, {old: new for new, old in kept}


def _union(relation: r.Union, wanted: list[int]) -> tuple[r.Relation, _Places]:
    inputs = tuple(_exactly(i, wanted) for i in relation.relations)
    changed = msgspec.structs.replace(relation, relations=inputs, row_type=_kept(relation.row_type, wanted))
    return changed, {old: new for new, old in enumerate(wanted)}


def _expand(relation: r.Expand, wanted: list[int]) -> tuple[r.Relation, _Places]:
    width = len(relation.input.row_type.fields)
    child, places = _prune(relation.input, [*(w for w in wanted if w < width), *relation.grouped])
    new_width = len(child.row_type.fields)
    output = {**places, width: new_width}
    back = {new: old for old, new in output.items()}
    changed = msgspec.structs.replace(
        relation,
        input=child,
        grouped=tuple(places[g] for g in relation.grouped),
        sets=tuple(tuple(places[c] for c in s) for s in relation.sets),
        row_type=_kept(relation.row_type, [back[i] for i in range(new_width + 1)]),
    )
    return changed, output


def _unnest(relation: r.Unnest | r.TableFunctionCall, wanted: list[int]) -> tuple[r.Relation, _Places]:
    """Keeps all columns of the elements: they are computed together."""
    width = len(relation.input.row_type.fields)
    read = (relation.column,) if isinstance(relation, r.Unnest) else relation.arguments
    child, places = _prune(relation.input, [*(w for w in wanted if w < width), *read])
    new_width = len(child.row_type.fields)
    output = {**places, **{i: i - width + new_width for i in range(width, len(relation.row_type.fields))}}
    back = {new: old for old, new in output.items()}
    changed = msgspec.structs.replace(
        relation,
        input=child,
        row_type=_kept(relation.row_type, [back[i] for i in range(len(back))]),
        **(
            {"column": places[relation.column]}
            if isinstance(relation, r.Unnest)
            else {"arguments": tuple(places[a] for a in relation.arguments)}
        ),
    )
    return changed, output
