"""Rewrites of a job graph before it is cut into levels. Each pass takes a graph and returns a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

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


def add_exchanges(graph: JobGraph) -> JobGraph:
    """Adds an exchange operator after each partitioning that is read by something other than an operator.

    Before: ``source -> rebalance -> map``.
    After: ``source -> rebalance -> exchange operator -> map``.

    >>> rebalance = PartitionNode(id=1, name="rebalance", uid="p", inputs=(0,), kind="rebalance")
    >>> double = TransformNode(id=2, name="double", uid="m", inputs=(1,), kind="map", function=None)
    >>> graph = JobGraph("job", (SourceNode(id=0, name="numbers", uid="s", source=None), rebalance, double))
    >>> [(node.uid, node.inputs) for node in add_exchanges(graph).nodes]
    [('s', ()), ('p', (0,)), ('p#exchange', (1,)), ('m', (3,))]
    """
    ids, nodes = _new_ids(graph), []
    exchanges: dict[int, int] = {}
    for original in graph.nodes:
        # Operators read the partitioning itself, and so do the readers of its dead letters.
        keeps_inputs = isinstance(original, (OperatorNode, SideOutputNode))
        node = original if keeps_inputs else _redirect(original, exchanges)
        nodes.append(node)
        readers = graph.consumers.get(node.id, [])
        if isinstance(node, PartitionNode) and not all(isinstance(r, (OperatorNode, SideOutputNode)) for r in readers):
            exchange = OperatorNode(
                id=next(ids),
                name=node.name,
                uid=f"{node.uid}#exchange",
                inputs=(node.id,),
                parallelism=_lowest_parallelism(readers, node),
                spec=ExchangeSpec(),
                output_type=node.output_type,
            )
            nodes.append(exchange)
            exchanges[node.id] = exchange.id
    return replace(graph, nodes=tuple(nodes))


def add_generator_operators(graph: JobGraph) -> JobGraph:
    """Replaces each watermark step whose generator keeps state by an operator that is partitioned by split.

    Before: ``source -> watermarks -> map``.
    After: ``source -> by split -> generator operator -> map``. Batch jobs have no watermarks and stay as they are.

    >>> from penstock.time import WatermarkGenerator, WatermarkStrategy
    >>> class MyGenerator(WatermarkGenerator): ...
    >>> strategy = WatermarkStrategy.for_generator(MyGenerator)
    >>> watermarks = WatermarkNode(id=1, name="time", uid="w", inputs=(0,), strategy=strategy)
    >>> graph = JobGraph("job", (SourceNode(id=0, name="numbers", uid="s", source=None), watermarks))
    >>> [(node.uid, node.inputs) for node in add_generator_operators(graph).nodes]
    [('s', ()), ('w#split', (0,)), ('w#generator', (2,))]
    """
    ids, nodes = _new_ids(graph), []
    generators: dict[int, int] = {}
    for original in graph.nodes:
        node = original if isinstance(original, OperatorNode) else _redirect(original, generators)
        if not isinstance(node, WatermarkNode) or not has_stateful_generator(node) or graph.batch_mode:
            nodes.append(node)
            continue
        by_split = PartitionNode(
            id=next(ids),
            name="by split",
            uid=f"{node.uid}#split",
            inputs=node.inputs,
            kind="split",
            output_type=node.output_type,
        )
        generator = OperatorNode(
            id=next(ids),
            name=node.name,
            uid=f"{node.uid}#generator",
            inputs=(by_split.id,),
            spec=GeneratorSpec(node.strategy),
            output_type=node.output_type,
            on_error=node.on_error,
            named=node.named,
        )
        nodes += [by_split, generator]
        generators[node.id] = generator.id
    return replace(graph, nodes=tuple(nodes))


def add_rebalances(graph: JobGraph) -> JobGraph:
    """Adds a rebalance and an exchange before each stateless step whose parallelism differs from that of its input.

    Before: ``source (parallelism 4) -> map (parallelism 2)``.
    After: ``source (4) -> rebalance -> exchange operator (2) -> map (2)``.

    >>> half = TransformNode(id=1, name="half", uid="m", inputs=(0,), kind="map", function=None, parallelism=2)
    >>> graph = JobGraph("job", (SourceNode(id=0, name="numbers", uid="s", source=None), half), parallelism=4)
    >>> [(node.uid, node.inputs) for node in add_rebalances(graph).nodes]
    [('s', ()), ('m#spread', (0,)), ('m#exchange', (2,)), ('m', (3,))]
    """
    ids, nodes = _new_ids(graph), []
    parallelism: dict[int, int] = {}
    for original in graph.nodes:
        node = original
        own_parallelism = node.parallelism if isinstance(node, TransformNode) else None
        if own_parallelism is not None and any(parallelism[i] != own_parallelism for i in node.inputs):
            rebalance = PartitionNode(
                id=next(ids), name="rebalance", uid=f"{node.uid}#spread", inputs=node.inputs, kind="rebalance"
            )
            exchange = OperatorNode(
                id=next(ids),
                name=rebalance.name,
                uid=f"{node.uid}#exchange",
                inputs=(rebalance.id,),
                parallelism=own_parallelism,
                spec=ExchangeSpec(),
            )
            nodes += [rebalance, exchange]
            node = replace(node, inputs=(exchange.id,))
        nodes.append(node)
        parallelism[node.id] = _parallelism(node, graph, parallelism)
    return replace(graph, nodes=tuple(nodes))


PASSES: tuple[Callable[[JobGraph], JobGraph], ...] = (
    add_exchanges,
    add_generator_operators,
    add_rebalances,
)


def apply_passes(graph: JobGraph) -> JobGraph:
    """Applies all passes in order."""
    for rewrite in PASSES:
        graph = rewrite(graph)
    return graph


def has_stateful_generator(node: WatermarkNode) -> bool:
    """Whether the watermark generator of a step keeps its state from batch to batch."""
    generator = node.strategy.generator
    return node.strategy.kind == "custom" and generator is not None and not getattr(generator, "per_batch", False)


def _new_ids(graph: JobGraph) -> Iterator[int]:
    return count(1 + max((n.id for n in graph.nodes), default=0))


def _redirect(node: Node, replacements: dict[int, int]) -> Node:
    """The node, reading the replacements of its inputs."""
    if not any(i in replacements for i in node.inputs):
        return node
    return replace(node, inputs=tuple(replacements.get(i, i) for i in node.inputs))


def _lowest_parallelism(readers: Sequence[Node], partitioning: PartitionNode) -> int | None:
    """The parallelism of an exchange: the lowest that one of its readers sets."""
    set_by_readers = [reader.parallelism for reader in readers if reader.parallelism is not None]
    return min(set_by_readers) if set_by_readers else partitioning.parallelism


def _parallelism(node: Node, graph: JobGraph, known: dict[int, int]) -> int:
    """The parallelism of a step. A step of a chain runs in the subtasks of the source or operator before it."""
    if isinstance(node, TransformNode) and node.parallelism is not None:
        return node.parallelism
    if isinstance(node, SourceNode):
        return graph.parallelism
    if isinstance(node, (OperatorNode, PartitionNode)):
        return node.parallelism or graph.parallelism
    return max((known[i] for i in node.inputs), default=graph.parallelism)
