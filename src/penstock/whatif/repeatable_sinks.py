"""Which sinks can be written again from an earlier point on."""

from __future__ import annotations

from typing import Any

from penstock.connectors.sinks import CollectSink, DiscardingSink
from penstock.errors import PlanError
from penstock.plan.graph import JobGraph


def appends(sink: Any) -> bool:
    """Whether writing an element once more leaves more than writing it once."""
    return not (sink.upserts or isinstance(sink, CollectSink | DiscardingSink))


def refuse_appending(graph: JobGraph, allowed: bool) -> None:
    """A replay into a sink that only appends would leave there what is there already, twice."""
    found = [f"'{node.name}' ({type(node.sink).__name__})" for node in graph.sinks if appends(node.sink)]
    if found and not allowed:
        raise PlanError(
            "REPLAY_APPENDS",
            f"Sink {', '.join(found)} only appends: what it holds since the savepoint would be there twice. Empty it first and "
            "give --append; or say `upserts = True` in its class if writing an element again does no harm.",
        )
