"""A plan as JSON, in the form of Flink's `get_execution_plan`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, PartitionNode, SideOutputNode, SinkNode, SourceNode, UnionNode

_VIRTUAL = (PartitionNode, SideOutputNode, UnionNode)  # how elements get from one node to the next
_STRATEGIES = {"key": "HASH", "split": "HASH"}


def json_plan(graph: JobGraph) -> str:
    """The nodes that do something, and how elements get to each."""
    nodes = [n for n in graph.nodes if not isinstance(n, _VIRTUAL)]
    nodes.sort(key=lambda n: isinstance(n, SinkNode))
    return json.dumps({"nodes": [_described(graph, n) for n in nodes]}, indent=2)


def _described(graph: JobGraph, node: Node) -> dict[str, Any]:
    kind = "Data Source" if isinstance(node, SourceNode) else "Data Sink" if isinstance(node, SinkNode) else "Operator"
    described: dict[str, Any] = {
        "id": node.id,
        "type": node.name,
        "pact": kind,
        "contents": node.name,
        "parallelism": node.parallelism or graph.parallelism,
    }
    if node.inputs:
        described["predecessors"] = [
            {"id": before, "ship_strategy": strategy, "side": side}
            for number, upstream in enumerate(node.inputs)
            for before, strategy in _before(graph, upstream, "FORWARD")
            for side in ["first" if number == 0 else "second"]
        ]
    return described


def _before(graph: JobGraph, upstream: int, strategy: str) -> Iterator[tuple[int, str]]:
    """The nodes that an input comes from, and how."""
    node = graph.by_id[upstream]
    if not isinstance(node, _VIRTUAL):
        yield node.id, strategy
        return
    if isinstance(node, PartitionNode):
        strategy = _STRATEGIES.get(node.kind, node.kind.upper())
    for further in node.inputs:
        yield from _before(graph, further, strategy)
