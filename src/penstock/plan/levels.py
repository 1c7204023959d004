"""Cuts a job into levels, the stages between two shuffles.

Sources are at level 0. An operator is one level above the highest of its inputs. Between two levels, elements are shuffled.
Within a level, stateless functions are chained, so a source is read once even if several branches use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import OperatorNode, SourceNode
from penstock.plan.passes import apply_passes


@dataclass(frozen=True)
class Levels:
    """A rewritten graph, and the level of each source and operator by node id."""

    graph: JobGraph
    level_of: dict[int, int]

    @property
    def depth(self) -> int:
        return max(self.level_of.values(), default=0)

    def operators_at(self, level: int) -> list[OperatorNode]:
        return [n for n in self.graph.operators if self.level_of[n.id] == level]

    def roots_of(self, node_id: int) -> set[int]:
        """Returns the ids of the sources and operators whose chains contain a node."""
        node = self.graph.by_id[node_id]
        if isinstance(node, (SourceNode, OperatorNode)):
            return {node_id}
        return set().union(*(self.roots_of(i) for i in node.inputs)) if node.inputs else set()


def cut_into_levels(graph: JobGraph) -> Levels:
    """Rewrites a graph by all passes and assigns levels."""
    graph = apply_passes(graph)
    levels = Levels(graph, {})
    for node in graph.nodes:  # inputs come before their readers
        if isinstance(node, SourceNode):
            levels.level_of[node.id] = 0
        elif isinstance(node, OperatorNode):
            roots = set().union(*(levels.roots_of(i) for i in node.inputs))
            levels.level_of[node.id] = 1 + max(levels.level_of[r] for r in roots)
    return levels
