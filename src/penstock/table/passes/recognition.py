"""Recognises windows and rankings from the inputs upwards, because each can be the input of the other."""

from __future__ import annotations

from penstock.table.passes.merge_calcs import merge_calcs
from penstock.table.passes.ranks import rank
from penstock.table.passes.time_attributes import materialize_time_attributes
from penstock.table.passes.traversal import bottom_up
from penstock.table.passes.windows import window_aggregate
from penstock.table.relations import Relation
from penstock.types.logical.kinds import RowType


def recognise(relation: Relation) -> Relation:
    """Introduces WindowAggregate, Rank, Deduplicate and WindowRank: see `windows` and `ranks`."""
    return bottom_up(relation, lambda r: window_aggregate(rank(r)))


def real_type(relation: Relation) -> RowType:
    """Returns the type of a relation in which only columns that follow the watermark, or PROCTIME(), are time attributes."""
    return materialize_time_attributes(recognise(merge_calcs(relation))).row_type
