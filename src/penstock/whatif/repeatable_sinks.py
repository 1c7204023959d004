"""Checks which sinks can be written again from an earlier point."""

from __future__ import annotations

from typing import Any

from penstock.connectors.basic_sinks import CollectSink, DiscardingSink
from penstock.errors import PlanError
from penstock.plan.graph import JobGraph


def is_append_only(sink: Any) -> bool:
    """Whether writing an element twice leaves it twice in the sink."""
    return not (sink.upserts or isinstance(sink, CollectSink | DiscardingSink))


def check_repeatable(graph: JobGraph, allowed: bool) -> None:
    """Raises PlanError if a sink only appends, because a replay would duplicate its content, unless `allowed` is set."""
    sinks = [f"'{node.name}' ({type(node.sink).__name__})" for node in graph.sinks if is_append_only(node.sink)]
    if sinks and not allowed:
        raise PlanError(
            "REPLAY_APPENDS",
            f"Sink {', '.join(sinks)} only appends, so its content since the savepoint would be duplicated. Remove that content "
            "and use --append. If writing an element again does no harm, set `upserts = True` in the class of the sink.",
        )
