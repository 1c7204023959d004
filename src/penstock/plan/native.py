"""Finds out whether a job can run in the real-time mode of Spark, which allows no Python functions."""

from __future__ import annotations

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, SinkNode, SourceNode


def real_time_obstacles(graph: JobGraph) -> list[str]:
    """The reasons why a job cannot run in real-time mode. Empty if it can.

    >>> real_time_obstacles(JobGraph("empty", ()))
    ['it has 0 sources instead of one', 'it has 0 sinks instead of one']
    """
    obstacles = [obstacle for node in graph.nodes if (obstacle := _obstacle(node))]
    for word, nodes in (("sources", graph.sources), ("sinks", graph.sinks)):
        if len(nodes) != 1:
            obstacles.append(f"it has {len(nodes)} {word} instead of one")
    return obstacles


def has_native_source(graph: JobGraph) -> bool:
    """Whether a source is a streaming DataFrame, so that real-time mode may be possible."""
    return any(node.source.native for node in graph.sources)


def _obstacle(node: Node) -> str:
    if isinstance(node, SourceNode):
        return "" if node.source.native else f"source '{node.name}' ({node.line}) is not a streaming DataFrame"
    if isinstance(node, SinkNode):
        return "" if node.sink.native else f"sink '{node.name}' ({node.line}) is not a SparkSink"
    return f"'{node.name}' ({node.line}) runs Python"
