"""Whether a job is made of Spark's own expressions alone: such a job may run in Spark's real-time mode."""

from __future__ import annotations

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, SinkNode, SourceNode


def real_time_obstacles(graph: JobGraph) -> list[str]:
    """What keeps a job from running in real-time mode; nothing: it may.

    >>> real_time_obstacles(JobGraph("empty", ()))
    ['it has 0 sources, and one is needed', 'it has 0 sinks, and one is needed']
    """
    found = [obstacle for node in graph.nodes if (obstacle := _obstacle(node))]
    for word, nodes in (("sources", graph.sources), ("sinks", graph.sinks)):
        if len(nodes) != 1:
            found.append(f"it has {len(nodes)} {word}, and one is needed")
    return found


def reads_natively(graph: JobGraph) -> bool:
    """Whether real-time mode is worth a word: a source is a streaming DataFrame."""
    return any(node.source.native for node in graph.sources)


def _obstacle(node: Node) -> str:
    if isinstance(node, SourceNode):
        return "" if node.source.native else f"source '{node.name}' ({node.line}) is not a streaming DataFrame"
    if isinstance(node, SinkNode):
        return "" if node.sink.native else f"sink '{node.name}' ({node.line}) is not a SparkSink"
    return f"'{node.name}' ({node.line}) runs Python"
