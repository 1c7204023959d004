"""Merges a Calc with the Calc that it reads.

    Calc(a + 1 WHERE a > 2)                 Calc(x * 2 + 1 WHERE x > 0 AND x * 2 > 2)
      Calc(x * 2 AS a WHERE x > 0)    ->      Scan(x)
        Scan(x)

A column of the lower Calc that is not deterministic (RAND, PROCTIME and so on) is computed once, so that Calcs stay apart if it is
used more than once or filtered by.
"""

from __future__ import annotations

from collections import Counter

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, python_function, walk
from penstock.runtime.relational.functions.registry import FUNCTIONS
from penstock.table import relations as r
from penstock.table.passes.rewriting import conjunction, conjuncts, over_projections
from penstock.table.passes.traversal import bottom_up


def merge_calcs(relation: r.Relation) -> r.Relation:
    """Merges adjacent Calcs, and removes those that change nothing."""
    return bottom_up(relation, _change)


def _change(relation: r.Relation) -> r.Relation:
    if not isinstance(relation, r.Calc):
        return relation
    if isinstance(relation.input, r.Calc) and _mergeable(relation, relation.input):
        relation = _merged(relation, relation.input)
    if is_identity(relation):
        return relation.input
    return relation


def is_identity(calc: r.Calc) -> bool:
    """Whether a Calc returns its input as it is, with the same names."""
    if calc.condition is not None or calc.row_type != calc.input.row_type:
        return False
    return all(isinstance(p, Column) and p.index == i for i, p in enumerate(calc.projections))


def _mergeable(upper: r.Calc, lower: r.Calc) -> bool:
    volatile = {i for i, p in enumerate(lower.projections) if not is_deterministic(p)}
    if not volatile:
        return True
    parts: list[Expression] = [*upper.projections, *([] if upper.condition is None else [upper.condition])]
    uses = Counter(c.index for part in parts for c in walk(part) if isinstance(c, Column))
    return all(uses[i] <= 1 for i in volatile) and upper.condition is None


def is_deterministic(expression: Expression) -> bool:
    """Whether an expression has the same value each time."""
    for part in walk(expression):
        python = python_function(part)
        if python is not None:
            if not python.deterministic:
                return False
        elif isinstance(part, Call):
            function = FUNCTIONS.get(part.function)
            if function is None or not function.is_deterministic(len(part.arguments)):
                return False
    return True


def _merged(upper: r.Calc, lower: r.Calc) -> r.Calc:
    projections = tuple(over_projections(p, lower.projections) for p in upper.projections)
    conditions = conjuncts(lower.condition)
    if upper.condition is not None:
        conditions += conjuncts(over_projections(upper.condition, lower.projections))
    return r.Calc(
        input=lower.input,
        projections=projections,
        condition=conjunction(dict.fromkeys(conditions)),
        row_type=upper.row_type,
        hints=(*upper.hints, *lower.hints),
    )
