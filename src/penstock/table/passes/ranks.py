"""Recognises Top-N and deduplication.

    Calc(k, v WHERE rn <= 3)                                    Calc(k, v)
      Over(PARTITION BY k ORDER BY v DESC, ROW_NUMBER())   ->     Rank(PARTITION BY k ORDER BY v DESC, 1 to 3)
        Scan                                                        Scan

With rn = 1 and a time attribute as the only order key it is Deduplicate; if the partition has the columns of a window, WindowRank.
The rank is an output only if something above reads it, and a rank that can only be one number becomes that number.
"""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal, columns_of
from penstock.table import relations as r
from penstock.table.passes.rewriting import conjunction, conjuncts, substituted
from penstock.table.passes.time_attributes import materialize_time_attributes
from penstock.table.passes.window_columns import window_columns
from penstock.types.logical.kinds import BIGINT, IntegerType, RowType, TimestampType

_RANKINGS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_LAST = 2**62


def rank(relation: r.Relation) -> r.Relation:
    """Replaces a filtered ROW_NUMBER by a Rank, Deduplicate or WindowRank."""
    if not isinstance(relation, r.Calc) or not isinstance(relation.input, r.Over):
        return relation
    over = relation.input
    if len(over.calls) != 1 or over.calls[0].call.function not in _RANKINGS or relation.condition is None:
        return relation
    place = len(over.input.row_type.fields)
    start, end, rest = 1, _LAST, []
    for part in conjuncts(relation.condition):
        bounds = _bounds(part, place)
        if bounds is None:
            rest.append(part)
        else:
            start, end = max(start, bounds[0]), min(end, bounds[1])
    if end == _LAST or start > end:
        return relation
    return _ranked(relation, over, start, end, rest)


def _ranked(calc: r.Calc, over: r.Over, start: int, end: int, rest: list[Expression]) -> r.Relation:
    place = len(over.input.row_type.fields)
    if start == end and over.calls[0].call.function == "ROW_NUMBER":
        number = Literal(start, BIGINT.with_nullable(False))

        def change(column: Column) -> Expression:
            return number if column.index == place else column

        projections = tuple(substituted(p, change) for p in calc.projections)
        rest = [substituted(p, change) for p in rest]
    else:
        projections = calc.projections
    outputs_rank = place in columns_of(*projections, *rest)
    found = _relation(over, start, end, outputs_rank)
    return msgspec.structs.replace(calc, input=found, projections=projections, condition=conjunction(rest))


def _relation(over: r.Over, start: int, end: int, outputs_rank: bool) -> r.Relation:
    function = over.calls[0].call.function
    fields = over.row_type.fields if outputs_rank else over.input.row_type.fields
    row_type = RowType(tuple(fields), nullable=False)
    windows = window_columns(over.input)
    if function == "ROW_NUMBER" and windows and {windows.start, windows.end} <= set(over.partition):
        special = {windows.start, windows.end, windows.time}
        return r.WindowRank(
            input=over.input,
            partition=tuple(p for p in over.partition if p not in special),
            order=over.order,
            start_column=windows.start,
            end_column=windows.end,
            start=start,
            end=end,
            outputs_rank=outputs_rank,
            event_time=windows.window.event_time,
            zone=windows.window.zone,
            row_type=row_type,
            hints=over.hints,
        )
    if function == "ROW_NUMBER" and (start, end) == (1, 1) and _by_time(over) and not outputs_rank:
        return r.Deduplicate(
            input=over.input,
            partition=over.partition,
            time_column=over.order[0].column,
            keep_last=not over.order[0].ascending,
            row_type=row_type,
            hints=over.hints,
        )
    return r.Rank(
        input=over.input,
        partition=over.partition,
        order=over.order,
        function=function,  # type: ignore[arg-type]
        start=start,
        end=end,
        outputs_rank=outputs_rank,
        row_type=row_type,
        hints=over.hints,
    )


def _by_time(over: r.Over) -> bool:
    if len(over.order) != 1:
        return False
    real = materialize_time_attributes(over.input)
    type_ = real.row_type.fields[over.order[0].column].type
    return isinstance(type_, TimestampType) and bool(type_.attribute)


def _bounds(condition: Expression, place: int) -> tuple[int, int] | None:
    """Returns the ranks that a condition allows, or None if it is about something else."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED:
        return None
    left, right = (_without_cast(a) for a in condition.arguments)
    operator = condition.function
    if isinstance(left, Literal):
        left, right, operator = right, left, _MIRRORED[operator]
    if not isinstance(left, Column) or left.index != place or not isinstance(right, Literal):
        return None
    if not isinstance(right.type, IntegerType) or right.value is None:
        return None
    number = int(right.value)
    return {
        "<": (1, number - 1),
        "<=": (1, number),
        ">": (number + 1, _LAST),
        ">=": (number, _LAST),
        "=": (number, number),
    }[operator]


def _without_cast(expression: Expression) -> Expression:
    """Comparisons of integers of different sizes have casts to the larger one."""
    if isinstance(expression, Call) and expression.function == "CAST" and isinstance(expression.type, IntegerType):
        inner = expression.arguments[0]
        if isinstance(inner.type, IntegerType) and inner.type.bits <= expression.type.bits:
            return inner
    return expression
