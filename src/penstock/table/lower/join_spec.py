"""Specifications of joins."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.runtime.relational.specs import operators as specs
from penstock.table import relations as r
from penstock.table.lower.join import JoinPlan
from penstock.table.passes.join_expiry import row_expiry
from penstock.table.passes.join_times import interval_bounds
from penstock.table.passes.window_columns import joined_window_columns, window_columns


def join_spec(
    join: r.Join, plan: JoinPlan, insert_only: tuple[bool, bool], ttls: tuple[int, int], zone: str
) -> specs.JoinSpec:
    """Returns the specification of a join: by windows, by an interval, or of all rows."""
    bounded = join.kind == "INNER" and not join.times and not join.single and not join.null_aware and all(insert_only)
    expiry, right_expiry = row_expiry(join) if bounded else (None, None)
    spec = specs.JoinSpec(
        input_types=plan.left_types,
        right_types=plan.right_types,
        output_types=tuple(f.type for f in join.row_type.fields),
        keys=plan.left_keys,
        right_keys=plan.right_keys,
        null_safe=plan.null_safe,
        kind=join.kind,
        condition=plan.condition,
        unknown_matches=join.null_aware,
        single=join.single,
        insert_only=insert_only[0],
        right_insert_only=insert_only[1],
        update_before=True,
        ttl=ttls[0],
        right_ttl=None if ttls[1] == ttls[0] else ttls[1],
        expiry=expiry,
        right_expiry=right_expiry,
        zone=zone,
    )
    if join.times == "window":
        return _window_join(join, spec)
    return _interval_join(join, spec) if join.times == "interval" else spec


def without_bounds(join: r.Join) -> r.Join:
    """Returns an interval join without the part of its condition that is the interval; other joins as they are."""
    bounds = interval_bounds(join) if join.times == "interval" else None
    return join if bounds is None else msgspec.structs.replace(join, condition=bounds.rest)


def _interval_join(join: r.Join, spec: specs.JoinSpec) -> specs.JoinSpec:
    bounds = interval_bounds(join)
    assert bounds is not None
    delay = max(-bounds.lower, bounds.upper) + (bounds.upper - bounds.lower) // 2
    return specs.IntervalJoinSpec(
        **_fields(spec),
        left_time=bounds.left,
        right_time=bounds.right,
        lower=bounds.lower,
        upper=bounds.upper,
        event_time=bounds.event_time,
        watermark_delay=max(delay, 0) if bounds.event_time else 0,
    )


def as_join(temporal: r.TemporalJoin) -> r.Join:
    """Returns the join of all versions, whose keys are those of the temporal join."""
    return r.Join(
        left=temporal.left,
        right=temporal.right,
        kind=temporal.kind,
        condition=temporal.condition,
        row_type=temporal.row_type,
    )


def temporal_spec(temporal: r.TemporalJoin, plan: JoinPlan, zone: str) -> specs.TemporalJoinSpec:
    """Returns the specification of a temporal join."""
    return specs.TemporalJoinSpec(
        input_types=plan.left_types,
        right_types=plan.right_types,
        output_types=plan.left_types + plan.right_types,
        keys=plan.left_keys,
        right_keys=plan.right_keys,
        null_safe=plan.null_safe,
        kind=temporal.kind,
        condition=plan.condition,
        insert_only=False,
        zone=zone,
        left_time=temporal.left_time,
        right_time=temporal.right_time,
    )


def processing_time_spec(temporal: r.TemporalJoin, plan: JoinPlan, ttl: int, zone: str) -> specs.ProcessingTimeJoinSpec:
    """Returns the specification of a temporal join with the latest versions."""
    return specs.ProcessingTimeJoinSpec(
        input_types=plan.left_types,
        right_types=plan.right_types,
        output_types=plan.left_types + plan.right_types,
        keys=plan.left_keys,
        right_keys=plan.right_keys,
        null_safe=plan.null_safe,
        kind=temporal.kind,
        condition=plan.condition,
        insert_only=False,
        ttl=ttl,
        zone=zone,
    )


def _window_join(join: r.Join, spec: specs.JoinSpec) -> specs.JoinSpec:
    left = window_columns(join.left)
    assert left is not None
    end, right_end = joined_window_columns(join)["end"]
    return specs.WindowJoinSpec(
        **_fields(spec),
        end_column=end,
        right_end_column=right_end,
        event_time=left.window.event_time,
        window_zone=left.window.zone,
    )


def _fields(spec: specs.JoinSpec) -> dict[str, Any]:
    return msgspec.structs.asdict(spec)
