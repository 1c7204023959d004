"""Aggregates per window and key. This module chooses the operator; each kind of window has its own."""

from __future__ import annotations

from penstock.runtime.relational.operators.operator import RelationalOperator
from penstock.runtime.relational.specs.operators import WindowAggregateSpec


def window_aggregate_operator(spec: WindowAggregateSpec) -> RelationalOperator:
    """Returns the operator for a specification."""
    if spec.window.kind == "SESSION" and spec.end_column < 0:
        from penstock.runtime.relational.windows.aggregate.session import SessionAggregateOperator

        return SessionAggregateOperator(spec)
    if spec.legacy and (spec.early is not None or spec.late is not None):
        from penstock.runtime.relational.windows.aggregate.updates import WindowUpdateOperator

        return WindowUpdateOperator(spec)
    if spec.end_column >= 0 or spec.window.kind == "TUMBLE":
        from penstock.runtime.relational.windows.aggregate.tumble import TumbleAggregateOperator

        return TumbleAggregateOperator(spec)
    if spec.window.kind == "HOP":
        from penstock.runtime.relational.windows.aggregate.hop import HopAggregateOperator

        return HopAggregateOperator(spec)
    from penstock.runtime.relational.windows.aggregate.cumulate import CumulateAggregateOperator

    return CumulateAggregateOperator(spec)
