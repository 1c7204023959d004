"""Finds the equal keys in the condition of a join."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, columns_of
from penstock.table.lower.places import remapped
from penstock.table.relations import Join
from penstock.types.logical.kinds import BOOLEAN, LogicalType


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """Keys by position, the rest of the condition, and the projections that compute keys which are no columns (None: no need)."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    null_safe: tuple[bool, ...]
    condition: Expression | None
    left_types: tuple[LogicalType, ...]
    right_types: tuple[LogicalType, ...]
    left_projections: list[Expression] | None
    right_projections: list[Expression] | None
    output_columns: list[Expression] | None


def plan_join(join: Join) -> JoinPlan:
    """Splits the condition of a join into equal keys and the rest."""
    left = [Column(i, f.type, f.name) for i, f in enumerate(join.left.row_type.fields)]
    right = [Column(i, f.type, f.name) for i, f in enumerate(join.right.row_type.fields)]
    width = len(left)
    computed: tuple[list[Expression], list[Expression]] = ([*left], [*right])
    keys: tuple[list[int], list[int]] = ([], [])
    null_safe: list[bool] = []
    rest: list[Expression] = []
    for part in conjuncts(join.condition):
        pair = None if join.null_aware else _equal_sides(part, width)
        if pair is None:
            rest.append(part)
            continue
        for side in (0, 1):
            keys[side].append(_place(pair[side], computed[side]))
        assert isinstance(part, Call)
        null_safe.append(part.function == "IS_NOT_DISTINCT_FROM")
    extra = len(computed[0]) - width  # computed keys follow the columns of the left input
    places = {i: i if i < width else i + extra for i in range(width + len(right))}
    condition = conjunction([remapped(part, places) for part in rest])
    output = None
    if len(computed[0]) > width or len(computed[1]) > len(right):
        kept: list[Expression] = [*left]
        if join.kind not in ("SEMI", "ANTI"):
            kept += [Column(i + width + extra, f.type, f.name) for i, f in enumerate(join.right.row_type.fields)]
        output = [
            Column(e.index, f.type, f.name) if isinstance(e, Column) else e
            for e, f in zip(kept, join.row_type.fields, strict=True)
        ]
    return JoinPlan(
        tuple(keys[0]),
        tuple(keys[1]),
        tuple(null_safe),
        condition,
        tuple(e.type for e in computed[0]),
        tuple(e.type for e in computed[1]),
        computed[0] if len(computed[0]) > width else None,
        computed[1] if len(computed[1]) > len(right) else None,
        output,
    )


def conjuncts(condition: Expression | None) -> list[Expression]:
    """Returns the parts of a condition that are joined by AND."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def conjunction(parts: list[Expression]) -> Expression | None:
    """Joins conditions by AND."""
    found: Expression | None = None
    for part in parts:
        found = part if found is None else Call("AND", (found, part), BOOLEAN)
    return found


def _equal_sides(part: Expression, width: int) -> tuple[Expression, Expression] | None:
    """The expressions over the left and the right input that a condition compares; None for other conditions."""
    if not isinstance(part, Call) or part.function not in ("=", "IS_NOT_DISTINCT_FROM") or len(part.arguments) != 2:
        return None
    a, b = part.arguments
    if a.type.with_nullable(True) != b.type.with_nullable(True):
        return None
    sides = [_side(a, width), _side(b, width)]
    if set(sides) != {0, 1}:
        return None
    left, right = (a, b) if sides[0] == 0 else (b, a)
    return left, remapped(right, {i: i - width for i in columns_of(right)})


def _side(expression: Expression, width: int) -> int | None:
    columns = columns_of(expression)
    if not columns:
        return None
    if max(columns) < width:
        return 0
    return 1 if min(columns) >= width else None


def _place(expression: Expression, computed: list[Expression]) -> int:
    """The position of a key, which is computed behind the columns if it is not one of them."""
    if isinstance(expression, Column):
        return expression.index
    computed.append(expression)
    return len(computed) - 1
