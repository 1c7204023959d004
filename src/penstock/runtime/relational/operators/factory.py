"""Creates the operator of a specification. Operators are imported when they are needed, because a job uses only a few of them."""

from __future__ import annotations

import importlib

from penstock.errors import PlanError
from penstock.runtime.relational.operators.operator import RelationalOperator
from penstock.runtime.relational.specs.operators import AnyOperatorSpec

_OPERATORS: dict[str, tuple[str, str]] = {  # specification: module and class
    "GroupAggregateSpec": ("group_aggregate", "GroupAggregateOperator"),
    "TableAggregateSpec": ("table_aggregate", "TableAggregateOperator"),
    "ProcessTableSpec": ("process_tables.operator", "ProcessTableOperator"),
    "WindowAggregateSpec": ("window_aggregate", "window_aggregate_operator"),
    "SessionAssignSpec": ("session_assign", "SessionAssignOperator"),
    "WindowRankSpec": ("window_rank", "WindowRankOperator"),
    "OverSpec": ("over", "over_operator"),
    "RankSpec": ("rank", "rank_operator"),
    "DeduplicateSpec": ("deduplicate", "DeduplicateOperator"),
    "TemporalSortSpec": ("temporal_sort", "TemporalSortOperator"),
    "SortLimitSpec": ("sort_limit", "SortLimitOperator"),
    "JoinSpec": ("joins.join", "join_operator"),
    "WindowJoinSpec": ("joins.window_join", "WindowJoinOperator"),
    "IntervalJoinSpec": ("joins.interval_join", "IntervalJoinOperator"),
    "TemporalJoinSpec": ("joins.temporal_join", "TemporalJoinOperator"),
    "ProcessingTimeJoinSpec": ("joins.processing_time_join", "ProcessingTimeJoinOperator"),
    "LookupJoinSpec": ("joins.lookup.operator", "LookupJoinOperator"),
    "SetOperationSpec": ("set_operation", "SetOperationOperator"),
    "MatchSpec": ("matching.operator", "MatchOperator"),
    "NormalizeSpec": ("normalize", "NormalizeOperator"),
    "EachChangeSpec": ("each_change", "EachChangeOperator"),
    "UpsertMaterializeSpec": ("upsert_materialize", "UpsertMaterializeOperator"),
}


def make_relational_operator(spec: AnyOperatorSpec) -> RelationalOperator:
    """Returns a new operator. Each is created with its specification as the only argument."""
    module, name = _OPERATORS.get(type(spec).__name__, ("", ""))
    if not module:
        raise PlanError("UNKNOWN_OPERATOR", f"There is no operator for {type(spec).__name__}.")
    package = "penstock.runtime.relational" if "." in module else "penstock.runtime.relational.operators"
    loaded = importlib.import_module(f"{package}.{module}")
    operator: RelationalOperator = getattr(loaded, name)(spec)
    return operator
