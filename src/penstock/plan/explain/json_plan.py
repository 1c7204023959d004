"""The JSON plan, in the format of Flink's `get_execution_plan`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, OperatorNode, PartitionNode, SideOutputNode, SinkNode, SourceNode, UnionNode

_VIRTUAL = (PartitionNode, SideOutputNode, UnionNode)  # they only describe how elements are exchanged
_STRATEGIES = {"key": "HASH", "split": "HASH"}
_FLINK_TYPES = {"project": "Projection"}  # by name


def json_plan(graph: JobGraph) -> str:
    """The JSON plan of a job: its operators, and how they exchange elements."""
    values = _values_operators(graph)
    nodes = [n for n in graph.nodes if not isinstance(n, _VIRTUAL) or n.id in values]
    nodes.sort(key=lambda n: isinstance(n, SinkNode))
    return json.dumps({"nodes": [_describe(graph, n, values) for n in nodes]}, indent=2)


def _values_operators(graph: JobGraph) -> set[int]:
    """The partitionings by key that precede no keyed operator. PyFlink adds an operator there, which removes the key."""
    used = {upstream for node in graph.nodes if isinstance(node, OperatorNode) for upstream in node.inputs}
    return {n.id for n in graph.nodes if isinstance(n, PartitionNode) and n.kind == "key" and n.id not in used}


def _describe(graph: JobGraph, node: Node, values: set[int]) -> dict[str, Any]:
    kind = "Data Source" if isinstance(node, SourceNode) else "Data Sink" if isinstance(node, SinkNode) else "Operator"
    description: dict[str, Any] = {
        "id": node.id,
        "type": "_keyed_stream_values_operator" if node.id in values else _FLINK_TYPES.get(node.name, node.name),
        "pact": kind,
        "contents": node.name,
        "parallelism": node.parallelism or graph.parallelism,
    }
    if node.inputs:
        description["predecessors"] = [
            {"id": before, "ship_strategy": strategy, "side": side}
            for number, upstream in enumerate(node.inputs)
            for before, strategy in _predecessors(graph, upstream, "HASH" if node.id in values else "FORWARD", values)
            for side in ["first" if number == 0 else "second"]
        ]
    return description


def _predecessors(graph: JobGraph, upstream: int, strategy: str, values: set[int]) -> Iterator[tuple[int, str]]:
    """The nodes that an input comes from, with their ship strategies."""
    node = graph.by_id[upstream]
    if not isinstance(node, _VIRTUAL) or node.id in values:
        yield node.id, strategy
        return
    if isinstance(node, PartitionNode):
        strategy = _STRATEGIES.get(node.kind, node.kind.upper())
    for further in node.inputs:
        yield from _predecessors(graph, further, strategy, values)
