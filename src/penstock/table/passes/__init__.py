"""Passes over relations, in the order in which they run. Each is a function from a relation to an equal one."""

from __future__ import annotations

from collections.abc import Callable

from penstock.table.passes.constants import fold_constants
from penstock.table.passes.distinct import drop_distinct
from penstock.table.passes.join_times import time_joins
from penstock.table.passes.merge_calcs import merge_calcs
from penstock.table.passes.prune_columns import prune_columns
from penstock.table.passes.prune_partitions import prune_partitions
from penstock.table.passes.push_filters import push_filters
from penstock.table.passes.recognition import recognise
from penstock.table.passes.time_attributes import materialize_time_attributes
from penstock.table.relations import Relation

Pass = Callable[[Relation], Relation]

PASSES: tuple[Pass, ...] = (
    fold_constants,
    merge_calcs,
    push_filters,
    merge_calcs,
    recognise,
    materialize_time_attributes,
    time_joins,
    merge_calcs,
    drop_distinct,
    prune_columns,
    merge_calcs,
    prune_partitions,
)


def apply_passes(relation: Relation) -> Relation:
    """Runs all passes."""
    for rewrite in PASSES:
        relation = rewrite(relation)
    return relation
