"""Cuts a job into levels. Level 0 is the sources; an operator stands one level above the highest of its inputs.

Between two levels elements move to other subtasks; within a level stateless functions are chained, so a source is scanned
once however many branches hang on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.plan.graph import JobGraph
from penstock.plan.nodes import (
    ExchangeSpec,
    GeneratorSpec,
    Node,
    OperatorNode,
    PartitionNode,
    SideOutputNode,
    SourceNode,
    TransformNode,
    WatermarkNode,
)


@dataclass(frozen=True)
class Levels:
    """A normalised graph and the level of each of its roots (sources and operators)."""

    graph: JobGraph
    level_of: dict[int, int]  # of sources and operators, by id

    @property
    def depth(self) -> int:
        return max(self.level_of.values(), default=0)

    def operators_at(self, level: int) -> list[OperatorNode]:
        return [n for n in self.graph.operators if self.level_of[n.id] == level]

    def roots_of(self, node_id: int) -> set[int]:
        """The sources and operators whose chains reach a node."""
        node = self.graph.by_id[node_id]
        if isinstance(node, (SourceNode, OperatorNode)):
            return {node_id}
        return set().union(*(self.roots_of(i) for i in node.inputs)) if node.inputs else set()


def cut(graph: JobGraph) -> Levels:
    """The levels of a job."""
    graph = _with_explicit_exchanges(graph)
    levels = Levels(graph, {})
    for node in graph.nodes:  # made in an order in which inputs come first
        if isinstance(node, SourceNode):
            levels.level_of[node.id] = 0
        elif isinstance(node, OperatorNode):
            roots = set().union(*(levels.roots_of(i) for i in node.inputs))
            levels.level_of[node.id] = 1 + max(levels.level_of[r] for r in roots)
    return levels


def _with_explicit_exchanges(graph: JobGraph) -> JobGraph:
    """Gives a partitioning that no operator reads an operator of its own, and a generator with memory its split host.

    ``rebalance().map(f)`` becomes ``rebalance() -> exchange operator -> map(f)``, and so does ``map(f)`` when it wants another
    parallelism than the step before it has.
    """
    nodes: list[Node] = []
    renamed: dict[int, int] = {}
    fresh = max((n.id for n in graph.nodes), default=0)
    widths: dict[int, int] = {}  # subtasks of each step
    for original in graph.nodes:
        node = _rewired(original, renamed, graph)
        if isinstance(node, TransformNode) and any(widths[i] != (node.parallelism or widths[i]) for i in node.inputs):
            fresh += 2
            spread = PartitionNode(
                id=fresh - 1, name="rebalance", uid=f"{node.uid}#spread", inputs=node.inputs, kind="rebalance"
            )
            exchange = OperatorNode(
                id=fresh,
                name=spread.name,
                uid=f"{node.uid}#exchange",
                inputs=(spread.id,),
                parallelism=node.parallelism,
                spec=ExchangeSpec(),
            )
            nodes += [spread, exchange]
            node = replace(node, inputs=(exchange.id,))
        nodes.append(node)
        widths[node.id] = _width(node, graph, widths)
        if isinstance(node, WatermarkNode) and needs_split_host(node) and not graph.batch:
            fresh += 2
            by_split = PartitionNode(
                id=fresh - 1,
                name="by split",
                uid=f"{node.uid}#split",
                inputs=node.inputs,
                kind="split",
                output_type=node.output_type,
            )
            host = OperatorNode(
                id=fresh,
                name=node.name,
                uid=f"{node.uid}#generator",
                inputs=(by_split.id,),
                spec=GeneratorSpec(node.strategy),
                output_type=node.output_type,
                on_error=node.on_error,
                named=node.named,
            )
            nodes[-1:] = [by_split, host]
            renamed[node.id] = host.id
            widths[host.id] = graph.parallelism
        if isinstance(node, PartitionNode) and not all(
            isinstance(c, (OperatorNode, SideOutputNode)) for c in graph.consumers.get(original.id, [])
        ):
            fresh += 1
            operator = OperatorNode(
                id=fresh,
                name=node.name,
                uid=f"{node.uid}#exchange",
                inputs=(node.id,),
                parallelism=_narrowest(graph, original),
                spec=ExchangeSpec(),
                output_type=node.output_type,
            )
            nodes.append(operator)
            renamed[node.id] = operator.id
            widths[operator.id] = operator.parallelism or graph.parallelism
    return replace(graph, nodes=tuple(nodes))


def needs_split_host(node: WatermarkNode) -> bool:
    generator = node.strategy.generator
    return node.strategy.kind == "custom" and generator is not None and not getattr(generator, "per_batch", False)


def _width(node: Node, graph: JobGraph, widths: dict[int, int]) -> int:
    """How many subtasks a step runs in: steps of a chain in those of its root."""
    if isinstance(node, TransformNode) and node.parallelism is not None:
        return node.parallelism
    if isinstance(node, (SourceNode, OperatorNode, PartitionNode)):
        return graph.parallelism if isinstance(node, SourceNode) else node.parallelism or graph.parallelism
    return max((widths[i] for i in node.inputs), default=graph.parallelism)


def _narrowest(graph: JobGraph, partition: Node) -> int | None:
    """An exchange runs with the parallelism of what reads it."""
    wanted = [c.parallelism for c in graph.consumers.get(partition.id, []) if c.parallelism is not None]
    return min(wanted) if wanted else partition.parallelism


def _rewired(node: Node, renamed: dict[int, int], graph: JobGraph) -> Node:
    if isinstance(node, OperatorNode) or not any(i in renamed for i in node.inputs):
        return node
    if isinstance(node, SideOutputNode) and isinstance(graph.by_id[node.inputs[0]], PartitionNode):
        return node  # the dead letters of the partitioning itself
    return replace(node, inputs=tuple(renamed.get(i, i) for i in node.inputs))
