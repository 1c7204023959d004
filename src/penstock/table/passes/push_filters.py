"""Filters rows earlier.

    Calc(a WHERE a > 1)             Calc(a)
      Union                   ->      Union
        Scan t                          Calc(a WHERE a > 1)
        Scan u                            Scan t
                                        Calc(a WHERE a > 1)
                                          Scan u

The same goes for joins: a condition of one side moves to that side, and a condition of both sides of an inner join into the join,
which turns FROM a, b WHERE a.x = b.x into a join by key. Outer joins keep conditions on the side that may be missing.
"""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.expressions.tree import Column, Expression, columns_of
from penstock.table import relations as r
from penstock.table.passes.merge_calcs import is_deterministic, merge_calcs
from penstock.table.passes.rewriting import conjunction, conjuncts, shifted
from penstock.table.passes.traversal import bottom_up


def push_filters(relation: r.Relation) -> r.Relation:
    """Moves conditions below unions and joins."""
    return bottom_up(relation, _change)


def _change(relation: r.Relation) -> r.Relation:
    if isinstance(relation, r.LookupJoin):
        return _into_table(relation)
    if not isinstance(relation, r.Calc) or relation.condition is None or not is_deterministic(relation.condition):
        return relation
    below = relation.input
    if isinstance(below, r.Union):
        inputs = tuple(filtered(i, relation.condition) for i in below.relations)
        union = msgspec.structs.replace(below, relations=inputs)
        return msgspec.structs.replace(relation, input=union, condition=None)
    if isinstance(below, r.Join):
        join, rest = _into_join(below, conjuncts(relation.condition))
        return msgspec.structs.replace(relation, input=join, condition=conjunction(rest))
    if isinstance(below, r.TemporalJoin):
        return _into_left(relation, below)
    if isinstance(below, r.LookupJoin):
        return _into_lookup(relation, below)
    return relation


def _into_left(relation: r.Calc, join: r.TemporalJoin) -> r.Relation:
    """Moves conditions to the left side only: a version that they drop would make an older one valid."""
    width = len(join.left.row_type.fields)
    parts = [(part, columns_of(part)) for part in conjuncts(relation.condition)]
    left = conjunction([part for part, used in parts if used and max(used) < width])
    if left is None:
        return relation
    rest = conjunction([part for part, used in parts if not used or max(used) >= width])
    changed = msgspec.structs.replace(join, left=filtered(join.left, left))
    return msgspec.structs.replace(relation, input=changed, condition=rest)


def _into_lookup(relation: r.Calc, join: r.LookupJoin) -> r.Relation:
    """Moves conditions of the left side there, and all others of an inner join into its condition."""
    width = len(join.left.row_type.fields)
    left, right, both, rest = [], [], [], []
    for part in conjuncts(relation.condition):
        used = columns_of(part)
        if used and max(used) < width:
            left.append(part)
        elif join.kind != "INNER":
            rest.append(part)
        elif used and min(used) >= width:
            right.append(shifted(part, -width))
        else:
            both.append(part)
    changed = msgspec.structs.replace(join, condition=conjunction([*conjuncts(join.condition), *both]))
    if (condition := conjunction(left)) is not None:
        changed = msgspec.structs.replace(changed, left=filtered(join.left, condition))
    if (condition := conjunction(right)) is not None:
        changed = msgspec.structs.replace(changed, right=merge_calcs(filtered(join.right, condition)))
    return msgspec.structs.replace(relation, input=changed, condition=conjunction(rest))


def _into_table(join: r.LookupJoin) -> r.Relation:
    """Moves conditions of ON that concern the table alone to the table, which may then return fewer rows."""
    width = len(join.left.row_type.fields)
    parts = [(part, columns_of(part)) for part in conjuncts(join.condition)]
    own = [part for part, used in parts if used and min(used) >= width and is_deterministic(part)]
    condition = conjunction([shifted(part, -width) for part in own])
    if condition is None:
        return join
    rest = conjunction([part for part, _ in parts if part not in own])
    right = merge_calcs(filtered(join.right, condition))
    return msgspec.structs.replace(join, condition=rest, right=right)


def filtered(relation: r.Relation, condition: Expression) -> r.Relation:
    """Returns the rows of a relation that meet a condition, and moves the condition further down."""
    columns = tuple(Column(i, f.type, f.name) for i, f in enumerate(relation.row_type.fields))
    calc = r.Calc(input=relation, projections=columns, condition=condition, row_type=relation.row_type)
    return _change(calc)


def _into_join(join: r.Join, parts: list[Expression]) -> tuple[r.Relation, list[Expression]]:
    width = len(join.left.row_type.fields)
    left, right, both, rest = [], [], [], []
    for part in parts:
        used = columns_of(part)
        if used and max(used) < width and join.kind in ("INNER", "LEFT", "SEMI", "ANTI"):
            left.append(part)
        elif used and min(used) >= width and join.kind in ("INNER", "RIGHT") and not join.single:
            right.append(shifted(part, -width))
        elif join.kind == "INNER" and not join.single:
            both.append(part)
        else:
            rest.append(part)
    condition = conjunction([*conjuncts(join.condition), *both])
    new_left, new_right = join.left, join.right
    if left:
        found = conjunction(left)
        assert found is not None
        new_left = filtered(join.left, found)
    if right:
        found = conjunction(right)
        assert found is not None
        new_right = filtered(join.right, found)
    return msgspec.structs.replace(join, left=new_left, right=new_right, condition=condition), rest
