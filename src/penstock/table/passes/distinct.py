"""Removes DISTINCT where all rows are distinct already.

Aggregate([0, 1])                       Calc(k, COUNT(*))
  Aggregate([k], COUNT(*))        ->      Aggregate([k], COUNT(*))
"""

from __future__ import annotations

from penstock.runtime.relational.expressions.tree import Column
from penstock.table import relations as r
from penstock.table.passes.traversal import bottom_up
from penstock.table.traits import upsert_keys


def drop_distinct(relation: r.Relation) -> r.Relation:
    """Replaces DISTINCT over the groups of an Aggregate by a Calc."""
    return bottom_up(relation, _change)


def _change(relation: r.Relation) -> r.Relation:
    if not isinstance(relation, r.Aggregate) or relation.calls or relation.group_window is not None:
        return relation
    below = relation.input
    while isinstance(below, r.Calc):
        below = below.input
    if not isinstance(below, r.Aggregate) or not relation.keys:
        return relation
    if not any(key <= set(relation.keys) for key in upsert_keys(relation.input)):
        return relation
    fields = relation.input.row_type.fields
    projections = tuple(Column(k, fields[k].type, fields[k].name) for k in relation.keys)
    return r.Calc(input=relation.input, projections=projections, row_type=relation.row_type)
