"""Describes relations: what each computes, the state that it keeps, and how this state grows."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.config.value_kinds import write_duration
from penstock.runtime.relational.expressions.description import expression_text
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.operators import OverCall
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.passes.join_expiry import row_expiry
from penstock.table.traits import Changelog


def names_of(relation: r.Relation) -> list[str]:
    """Returns the names of the columns of a relation."""
    return [field.name for field in relation.row_type.fields]


def title(relation: r.Relation) -> str:
    """Returns one line that says what a relation computes."""
    names = names_of(relation)
    inner = names_of(relation.inputs()[0]) if relation.inputs() else []
    match relation:
        case r.Scan():
            return f"Scan(table=[{'.'.join(relation.path)}], fields=[{', '.join(names)}]{_scan_details(relation)})"
        case r.Frame():
            return f"Frame(rows={len(relation.data.changes)}, fields=[{', '.join(names)}])"
        case r.Values():
            return f"Values(rows={len(relation.rows)}, fields=[{', '.join(names)}])"
        case r.Calc():
            where = "" if relation.condition is None else f", where=[{expression_text(relation.condition, inner)}]"
            return f"Calc(select=[{_projections(relation, inner, names)}]{where})"
        case r.WindowAssign():
            return f"WindowTableFunction(window=[{relation.window}], fields=[{', '.join(names)}])"
        case r.WindowAggregate():
            window = f"window=[{relation.window}], " if relation.start_column < 0 else "window=[of the input], "
            return f"WindowAggregate({_keys(relation.keys, inner)}{window}select=[{_calls(relation.calls, inner)}])"
        case r.TableAggregate():
            return f"PythonGroupTableAggregate({_keys(relation.keys, inner)}select=[{_calls([relation.call], inner)}])"
        case r.ProcessTable():
            call = f"call=[{relation.function.label}], fields=[{', '.join(names)}]"
            return f"ProcessTableFunction({_keys(relation.keys, inner)}{call})"
        case r.Aggregate():
            kind = "PythonGroupAggregate" if _calls_python(relation.calls) else "GroupAggregate"
            return f"{kind}({_keys(relation.keys, inner)}select=[{_calls(relation.calls, inner)}])"
        case r.Expand():
            sets = ", ".join("(" + ", ".join(inner[c] for c in s) + ")" for s in relation.sets)
            return f"Expand(sets=[{sets}])"
        case r.Unnest():
            kind = "LEFT" if relation.outer else "INNER"
            return f"Unnest(type=[{kind}], collection=[{inner[relation.column]}], fields=[{', '.join(names)}])"
        case r.ToChangelog():
            return f"ToChangelog(op=[{names[0]}], codes=[{', '.join(str(code) for code in relation.codes)}])"
        case r.FromChangelog():
            return f"FromChangelog(op=[{inner[relation.column]}], fields=[{', '.join(names)}])"
        case r.TableFunctionCall():
            kind = "LEFT" if relation.outer else "INNER"
            call = f"{relation.function.label}({', '.join(inner[a] for a in relation.arguments)})"
            return f"TableFunction(type=[{kind}], call=[{call}], fields=[{', '.join(names)}])"
        case r.Over():
            calls = ", ".join(f"{_call(c.call, inner)} {_frame(c)}" for c in relation.calls)
            return f"Over({_partition(relation.partition, inner)}orderBy=[{_order(relation.order, inner)}], select=[{calls}])"
        case r.Rank() | r.WindowRank():
            kind = "WindowRank" if isinstance(relation, r.WindowRank) else "Rank"
            end = "" if relation.end >= 2**62 else relation.end
            return (
                f"{kind}({_partition(relation.partition, inner)}orderBy=[{_order(relation.order, inner)}], "
                f"rows=[{relation.start} to {end}], outputsRank={str(relation.outputs_rank).lower()})"
            )
        case r.Deduplicate():
            kept = "last" if relation.keep_last else "first"
            return (
                f"Deduplicate(keep=[{kept} row by {inner[relation.time_column]}], "
                f"key=[{', '.join(inner[k] for k in relation.partition)}])"
            )
        case r.Match():
            within = "" if relation.within is None else f", within=[{relation.within} ms]"
            pattern = " ".join(map(str, relation.pattern)) if relation.tree is None else str(relation.tree)
            subsets = f", subsets=[{', '.join(map(str, relation.subsets))}]" if relation.subsets else ""
            return (
                f"Match({_partition(relation.partition, inner)}orderBy=[{_order(relation.order, inner)}], "
                f"measures=[{', '.join(names)}], rowsPerMatch=[{relation.all_rows or 'ONE ROW PER MATCH'}], "
                f"after=[SKIP {relation.skip}], pattern=[{pattern}]{within}{subsets}, "
                f"define=[{', '.join(d.variable for d in relation.definitions)}]"
                f"{'' if relation.tree is None else ', semantics=[SQL standard]'})"
            )
        case r.Sort():
            limit = "" if relation.limit is None else f", limit=[{relation.limit}]"
            offset = f", offset=[{relation.offset}]" if relation.offset else ""
            return f"Sort(orderBy=[{_order(relation.order, inner)}]{offset}{limit})"
        case r.Union():
            return f"Union(inputs={len(relation.relations)}, fields=[{', '.join(names)}])"
        case r.Join():
            both = names_of(relation.left) + names_of(relation.right)
            where = "TRUE" if relation.condition is None else expression_text(relation.condition, both)
            name = {"": "Join", "window": "WindowJoin", "interval": "IntervalJoin"}[relation.times]
            return f"{name}(type=[{relation.kind}], where=[{where}])"
        case r.TemporalJoin():
            both = names_of(relation.left) + names_of(relation.right)
            where = "TRUE" if relation.condition is None else expression_text(relation.condition, both)
            of = "latest"
            if relation.right_time >= 0:
                of = f"{both[len(names_of(relation.left)) + relation.right_time]} as of {both[relation.left_time]}"
            return f"TemporalJoin(type=[{relation.kind}], where=[{where}], version=[{of}])"
        case r.LookupJoin():
            both = names_of(relation.left) + names_of(relation.right)
            where = "TRUE" if relation.condition is None else expression_text(relation.condition, both)
            table = relation.right if isinstance(relation.right, r.Scan) else relation.right.inputs()[0]
            path = ".".join(table.path) if isinstance(table, r.Scan) else ""
            rest = ""
            if isinstance(relation.right, r.Calc) and relation.right.condition is not None:
                rest = f", filter=[{expression_text(relation.right.condition, names_of(table))}]"
            return f"LookupJoin(table=[{path}], type=[{relation.kind}], where=[{where}]{rest})"
        case r.SetOperation():
            return f"{relation.kind.capitalize()}(all={str(relation.all).lower()})"
        case r.Sink():
            where = ".".join(relation.path) if relation.path else "collect"
            return f"Sink(table=[{where}], fields=[{', '.join(names)}])"
    return type(relation).__name__


def _scan_details(scan: r.Scan) -> str:
    found = dict(scan.options).get("dead-letter.path", "")
    if scan.dead_letters is not None:
        found = ".".join(scan.dead_letters.path)
    parts = [f"partitions=[{expression_text(condition, names_of(scan))}]" for condition in scan.partitions]
    return "".join(f", {part}" for part in [*parts, *([f"deadLetters=[{found}]"] if found else [])])


def _projections(calc: r.Calc, inner: list[str], names: list[str]) -> str:
    parts = []
    for expression, name in zip(calc.projections, names, strict=True):
        text = expression_text(expression, inner)
        parts.append(text if text == name else f"{text} AS {name}")
    return ", ".join(parts)


def _keys(keys: Sequence[int], names: list[str]) -> str:
    return f"groupBy=[{', '.join(names[k] for k in keys)}], " if keys else ""


def _partition(keys: Sequence[int], names: list[str]) -> str:
    return f"partitionBy=[{', '.join(names[k] for k in keys)}], " if keys else ""


def _order(order: Sequence[SortKey], names: list[str]) -> str:
    return ", ".join(f"{names[key.column]} {'ASC' if key.ascending else 'DESC'}" for key in order)


def _calls_python(calls: Sequence[AggregateCall]) -> bool:
    """Whether a function of the user is called. Then the title of a relation is that of Flink for such calls."""
    return any(call.python is not None for call in calls)


def _calls(calls: Sequence[AggregateCall], names: list[str]) -> str:
    return ", ".join(_call(call, names) for call in calls)


def _call(call: AggregateCall, names: list[str]) -> str:
    arguments = ", ".join(names[a] for a in call.arguments) or ("*" if call.function == "COUNT" else "")
    distinct = "DISTINCT " if call.distinct else ""
    condition = "" if call.filter is None else f" FILTER {names[call.filter]}"
    name = call.function if call.python is None else call.python.function.label
    return f"{name}({distinct}{arguments}){condition}"


def _frame(call: OverCall) -> str:
    unit = " ms" if call.mode == "RANGE" else ""
    lower = "UNBOUNDED" if call.lower is None else f"{call.lower}{unit}"
    upper = (
        "CURRENT ROW" if call.upper == 0 else "UNBOUNDED FOLLOWING" if call.upper is None else f"{call.upper} FOLLOWING"
    )
    return f"({call.mode} BETWEEN {lower} PRECEDING AND {upper})"


def state_growth(relation: r.Relation, inputs: list[Changelog], ttl: int) -> str:
    """Returns what state a relation keeps and what makes it grow; "" for relations without state."""
    inner = names_of(relation.inputs()[0]) if relation.inputs() else []
    until = f", removed after {write_duration(ttl)} without changes" if ttl else ""
    match relation:
        case r.Aggregate():
            if not relation.keys:
                growth = "one entry"
            else:
                growth = f"grows with distinct ({', '.join(inner[k] for k in relation.keys)})"
            if any(c.distinct for c in relation.calls):
                growth += ", and with distinct arguments of DISTINCT calls"
            elif not all(i.insert_only for i in inputs) and any(c.function in ("MIN", "MAX") for c in relation.calls):
                growth += ", and with the values of MIN and MAX, because the input has deletes"
            return growth + until
        case r.ProcessTable():
            keys = f"for each distinct ({', '.join(inner[k] for k in relation.keys)}) " if relation.keys else ""
            return f"state and timers {keys}until the function clears them"
        case r.TableAggregate():
            growth = (
                f"grows with distinct ({', '.join(inner[k] for k in relation.keys)})" if relation.keys else "one entry"
            )
            return growth + until
        case r.WindowAggregate():
            return f"bounded by the windows that are open ({relation.window}) and their keys"
        case r.WindowAssign() if relation.window.kind == "SESSION":
            return "bounded by the rows of open sessions"
        case r.WindowRank():
            return "bounded by the windows that are open and their best rows"
        case r.Rank():
            key = f"distinct ({', '.join(inner[k] for k in relation.partition)})" if relation.partition else "one group"
            if all(i.insert_only for i in inputs) and relation.end < 2**62:
                return f"{relation.end} rows for each of {key}" + until
            return f"all rows of the input, by {key}" + until
        case r.Deduplicate():
            return f"one row for each distinct ({', '.join(inner[k] for k in relation.partition)})" + until
        case r.Over():
            if not traits.is_time_order(relation):
                return "all rows of the input" + until
            bounded = [c.lower for c in relation.calls]
            if any(b is None for b in bounded):
                return "one accumulator for each partition, and rows that wait for the watermark" + until
            return "bounded by the longest frame of each partition, and rows that wait for the watermark"
        case r.Match():
            kept = ", the last rows of each partition" if relation.previous else ""
            kept += ", a number for each partition" if any(n.kind == "NUMBER" for n in relation.navigations) else ""
            if relation.within is None:
                found = f"rows of partial matches of each partition (WITHIN would bound them){kept}"
            else:
                found = f"bounded by the rows of partial matches within the time of WITHIN{kept}"
            return f"{found}, and rows that wait for the watermark"
        case r.Sort():
            if relation.limit is not None and all(i.insert_only for i in inputs):
                return f"{relation.offset + relation.limit} rows"
            if relation.limit is None and not relation.offset and traits.orders_by_time(relation):
                return "rows that wait for the watermark"
            return "all rows of the input" + until
        case r.Join(times="window"):
            return "bounded by the rows of windows that are open"
        case r.Join(times="interval") if all(i.insert_only for i in inputs):
            return "bounded by the rows within the interval"
        case r.Join() if all(i.insert_only for i in inputs) and any(row_expiry(relation)) and relation.kind == "INNER":
            names = [n for n, e in zip(("left", "right"), row_expiry(relation), strict=True) if e is not None]
            if len(names) == 2:
                return "bounded by the rows that later windows can match"
            other = "right" if names == ["left"] else "left"
            return f"the {other} input, and rows of the {names[0]} one that later windows can match" + until
        case r.Join():
            return "both inputs" + until
        case r.TemporalJoin(right_time=-1):
            return "one version of each key" + until
        case r.TemporalJoin():
            return "the last version of each key, and rows and versions that wait for the watermark"
        case r.SetOperation():
            return "distinct rows of both inputs" + until
    return ""
