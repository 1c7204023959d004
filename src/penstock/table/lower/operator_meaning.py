"""What a stateful operator means: its id, and what must be equal in another query that uses its state."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from penstock.runtime.relational.evolution.meaning import InputMeaning, OperatorMeaning
from penstock.runtime.relational.specs import operators as specs
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.table.lower.lineage import (
    ColumnLineage,
    Lineage,
    expression_lineage,
    shortened,
    stable_text,
    window_text,
)

UID = "UID"  # the hint of a query
STORED_UID = "STORED_UID"  # the hint that a stored plan adds

# Fields of specifications that are not part of a meaning: columns, aggregates, and how rows are read and emitted.
_NOT_MEANT = {
    *("input_types", "right_types", "output_types", "keys", "right_keys", "calls", "insert_only", "right_insert_only"),
    *("update_before", "ttl", "partials", "properties", "outputs_rank", "zone", "watermark_delay", "monotone"),
    *("expiry", "right_expiry", "cache", "retry"),
}
_COLUMNS = {"start_column", "end_column", "time_column", "left_time", "upsert_key"}  # positions in the left input
_RIGHT_COLUMNS = {"right_end_column", "right_time"}


def operator_meaning(
    spec: Any, lineages: Sequence[Lineage], hints: Sequence[tuple[str, Any]] = (), number: int = 0
) -> OperatorMeaning:
    """Returns the meaning of an operator, given the lineage of each input, the hints of its relation, and its number in it."""
    inner = spec.operator if isinstance(spec, specs.EachChangeSpec) else spec
    facts = _facts(inner, lineages)
    meanings = tuple(_input(inner, number, lineage) for number, lineage in enumerate(lineages))
    calls: tuple[AggregateCall, ...] = ()
    texts: tuple[str, ...] = ()
    layout: dict[str, str] = {}
    if isinstance(inner, specs.GroupAggregateSpec | specs.WindowAggregateSpec):
        # The code of functions may change, and is not needed to read their state.
        calls = tuple(without_payload(call) for call in inner.calls)
        texts = tuple(call_text(call, lineages[0]) for call in inner.calls)
        if isinstance(inner, specs.TableAggregateSpec):
            layout["aggregates"] = "; ".join(texts)
    elif isinstance(inner, specs.OverSpec):
        layout["aggregates"] = "; ".join(_over_text(call, lineages[0]) for call in inner.calls)
    kind = type(inner).__struct_config__.tag or type(inner).__name__
    uid = _hinted(hints, str(kind), number)
    return OperatorMeaning(
        id=uid or _id(str(kind), meanings, facts),
        kind=str(kind),
        inputs=meanings,
        facts=facts,
        calls=calls,
        call_texts=texts,
        layout=layout,
        ttl=inner.ttl,
        sources=tuple(sorted({source for lineage in lineages for source in lineage.sources})),
        given=any(name == UID for name, _ in hints),
    )


def _hinted(hints: Sequence[tuple[str, Any]], kind: str, number: int) -> str:
    """The uid that a query or a stored plan names. A query may have several operators, so the kind is added."""
    for name, values in hints:
        if name == STORED_UID and number < len(values):
            return str(values[number])
        if name == UID and values:
            return f"{values[0]}-{kind.replace('_', '-')}"
    return ""


def _id(kind: str, inputs: Sequence[InputMeaning], facts: dict[str, str]) -> str:
    parts = [kind, *(f"{name}={text}" for name, text in sorted(facts.items()))]
    for one in inputs:
        keys = sorted(one.key_texts) if len(inputs) == 1 else one.key_texts  # keys of a join belong together in pairs
        parts += [one.base, *(f.text for f in one.filters), "by", *keys]
    return f"sql-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:12]}"


def _input(spec: Any, number: int, lineage: Lineage) -> InputMeaning:
    right = number == 1
    types = spec.right_types if right else spec.input_types
    keys = getattr(spec, "right_keys", spec.keys) if right else spec.keys
    insert_only = getattr(spec, "right_insert_only", spec.insert_only) if right else spec.insert_only
    return InputMeaning(
        base=lineage.base,
        columns=lineage.texts(range(len(types))),
        types=tuple(types),
        keys=tuple(keys),
        filters=lineage.filters,
        insert_only=insert_only,
    )


def _facts(spec: Any, lineages: Sequence[Lineage]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in type(spec).__struct_fields__:
        value = getattr(spec, name)
        if name not in _NOT_MEANT and value is not None:
            text = _fact(name, value, spec, lineages)
            if text:
                found[name.replace("_", " ")] = text
    return found


def _fact(name: str, value: Any, spec: Any, lineages: Sequence[Lineage]) -> str:
    left = lineages[0]
    if name in _COLUMNS or name in _RIGHT_COLUMNS:
        lineage = lineages[-1] if name in _RIGHT_COLUMNS else left
        positions = [value] if isinstance(value, int) else list(value)
        return ", ".join(lineage.texts([p for p in positions if p >= 0]))
    if name == "window":
        return window_text(value, left)
    if name == "order":
        return order_text(value, left)
    if name == "condition":
        return expression_lineage(value, joined_lineage(spec, lineages)).text
    if isinstance(spec, specs.MatchSpec) and not isinstance(value, int | str):
        # Its parts contain positions, so the order of the columns counts.
        columns = ", ".join(column.text for column in left.columns)
        return shortened(f"{stable_text(value)} of ({columns})")
    return str(value) if isinstance(value, int | str) else shortened(stable_text(value))


def order_text(order: Sequence[SortKey], lineage: Lineage) -> str:
    """Returns sort keys in terms of columns of tables."""
    parts = []
    for key in order:
        nulls = "" if key.nulls_first == key.ascending else " NULLS FIRST" if key.nulls_first else " NULLS LAST"
        parts.append(f"{lineage.column(key.column).text}{'' if key.ascending else ' DESC'}{nulls}")
    return ", ".join(parts)


def call_text(call: AggregateCall, lineage: Lineage) -> str:
    """Returns an aggregate in terms of columns of tables."""
    arguments = ", ".join(lineage.texts(call.arguments)) or "*"
    name = call.function if call.python is None else f"{call.function} {call.python.function.label}"
    text = f"{name}({'DISTINCT ' if call.distinct else ''}{arguments})"
    text += f" options {call.options!r}" if call.options else ""
    text += f" ordered by {order_text(call.order, lineage)}" if call.order else ""
    text += " ignoring nulls" if call.ignore_nulls else ""
    return text if call.filter is None else f"{text} filter {lineage.column(call.filter).text}"


def without_payload(call: AggregateCall) -> AggregateCall:
    """Returns a call without the pickled function of the user."""
    if call.python is None:
        return call
    function = msgspec.structs.replace(call.python.function, payload=b"")
    return msgspec.structs.replace(call, python=msgspec.structs.replace(call.python, function=function))


def _over_text(call: specs.OverCall, lineage: Lineage) -> str:
    return f"{call_text(call.call, lineage)} {call.mode} {call.lower} {call.upper}"


def joined_lineage(spec: Any, lineages: Sequence[Lineage]) -> Lineage:
    """Returns the columns of both inputs of a join. Those of the right one are marked, because both may read the same table."""
    left = [lineages[0].column(i) for i in range(len(spec.input_types))]
    right = [_marked(lineages[1].column(i)) for i in range(len(spec.right_types))]
    return Lineage("join", (*left, *right))


def _marked(column: ColumnLineage) -> ColumnLineage:
    return ColumnLineage.of(f"right {column.text}")


def operator_lineage(spec: Any, meaning: OperatorMeaning, lineages: Sequence[Lineage]) -> Lineage:
    """Returns the lineage of the rows that an operator emits."""
    inner = spec.operator if isinstance(spec, specs.EachChangeSpec) else spec
    rule = _OUTPUTS.get(type(inner))
    columns = () if rule is None else rule(inner, lineages, meaning)
    return Lineage(meaning.id, tuple(columns), (), meaning.sources)


_Columns = Sequence[ColumnLineage]


def _grouped(spec: Any, lineages: Sequence[Lineage], meaning: OperatorMeaning) -> _Columns:
    keys = [ColumnLineage.of(text) for text in lineages[0].texts(spec.keys)]
    properties = [f"window {name}" for name in getattr(spec, "properties", ())]
    return [*keys, *map(ColumnLineage.of, (*meaning.call_texts, *properties))]


def _table_aggregate(spec: Any, lineages: Sequence[Lineage], meaning: OperatorMeaning) -> _Columns:
    keys = [ColumnLineage.of(text) for text in lineages[0].texts(spec.keys)]
    count = len(spec.calls[0].type.element.fields)
    return [*keys, *(ColumnLineage.of(f"{meaning.call_texts[0]} {i}") for i in range(count))]


def _same(spec: Any, lineages: Sequence[Lineage], meaning: OperatorMeaning) -> _Columns:
    return [ColumnLineage.of(text) for text in lineages[0].texts(range(len(spec.input_types)))]


def _with(*added: str) -> Callable[[Any, Sequence[Lineage], OperatorMeaning], _Columns]:
    def columns(spec: Any, lineages: Sequence[Lineage], meaning: OperatorMeaning) -> _Columns:
        return [*_same(spec, lineages, meaning), *map(ColumnLineage.of, added)]

    return columns


def _over(spec: Any, lineages: Sequence[Lineage], meaning: OperatorMeaning) -> _Columns:
    results = [ColumnLineage.of(_over_text(call, lineages[0])) for call in spec.calls]
    return [*_same(spec, lineages, meaning), *results]


def _joined(spec: Any, lineages: Sequence[Lineage], meaning: OperatorMeaning) -> _Columns:
    columns = joined_lineage(spec, lineages).columns
    if spec.kind in ("SEMI", "ANTI"):
        columns = columns[: len(spec.input_types)]
    return [ColumnLineage.of(column.text) for column in columns]


_OUTPUTS: dict[type, Callable[[Any, Sequence[Lineage], OperatorMeaning], _Columns]] = {
    specs.GroupAggregateSpec: _grouped,
    specs.TableAggregateSpec: _table_aggregate,
    specs.WindowAggregateSpec: _grouped,
    specs.SessionAssignSpec: _with("window_start", "window_end", "window_time"),
    specs.WindowRankSpec: _with("rank"),
    specs.OverSpec: _over,
    specs.RankSpec: _with("rank"),
    specs.DeduplicateSpec: _with("rank"),
    specs.TemporalSortSpec: _same,
    specs.SortLimitSpec: _same,
    specs.NormalizeSpec: _same,
    specs.UpsertMaterializeSpec: _same,
    specs.SetOperationSpec: _same,
    specs.JoinSpec: _joined,
    specs.WindowJoinSpec: _joined,
    specs.IntervalJoinSpec: _joined,
    specs.TemporalJoinSpec: _joined,
    specs.ProcessingTimeJoinSpec: _joined,
}
