"""The JSON plan, in the format of Flink's `get_execution_plan`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, PartitionNode, SideOutputNode, SinkNode, SourceNode, UnionNode

_VIRTUAL = (PartitionNode, SideOutputNode, UnionNode)  # they only describe how elements are exchanged
_STRATEGIES = {"key": "HASH", "split": "HASH"}


def json_plan(graph: JobGraph) -> str:
    """The JSON plan of a job: its operators, and how they exchange elements."""
    nodes = [n for n in graph.nodes if not isinstance(n, _VIRTUAL)]
    nodes.sort(key=lambda n: isinstance(n, SinkNode))
    return json.dumps({"nodes": [_describe(graph, n) for n in nodes]}, indent=2)


def _describe(graph: JobGraph, node: Node) -> dict[str, Any]:
    kind = "Data Source" if isinstance(node, SourceNode) else "Data Sink" if isinstance(node, SinkNode) else "Operator"
    description: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": kind,
        "contents": node.name,
        "parallelism": node.parallelism or graph.parallelism,
    }
    if node.inputs:
        description["predecessors"] = [
            {"id": before, "ship_strategy": strategy, "side": side}
            for number, upstream in enumerate(node.inputs)
            for before, strategy in _predecessors(graph, upstream, "FORWARD")
            for side in ["first" if number == 0 else "second"]
        ]
    return description


def _predecessors(graph: JobGraph, upstream: int, strategy: str) -> Iterator[tuple[int, str]]:
    """The nodes that an input comes from, with their ship strategies."""
    node = graph.by_id[upstream]
    if not isinstance(node, _VIRTUAL):
        yield node.id, strategy
        return
    if isinstance(node, PartitionNode):
        strategy = _STRATEGIES.get(node.kind, node.kind.upper())
    for further in node.inputs:
        yield from _predecessors(graph, further, strategy)
