"""The passes that rewrite a job graph before it is cut into levels."""

from __future__ import annotations

from typing import Any

from penstock.plan.graph import JobGraph
from penstock.plan.levels import cut_into_levels
from penstock.plan.nodes import (
    ExchangeSpec,
    GeneratorSpec,
    Node,
    OperatorNode,
    PartitionNode,
    ProcessSpec,
    SideOutputNode,
    SourceNode,
    TransformNode,
    WatermarkNode,
)
from penstock.plan.passes import PASSES, add_exchanges, add_generator_operators, add_rebalances, apply_passes
from penstock.time import WatermarkGenerator, WatermarkStrategy

SOURCE = SourceNode(id=0, name="numbers", uid="numbers", source=None)


class CustomGenerator(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        """Emits no watermarks."""

    def on_periodic_emit(self, output: Any) -> None:
        """Emits no watermarks."""


GENERATOR = WatermarkStrategy.for_generator(CustomGenerator)


def partitioning(number: int, *inputs: int) -> PartitionNode:
    return PartitionNode(id=number, name="rebalance", uid=f"p{number}", inputs=inputs, kind="rebalance")


def transform(number: int, *inputs: int, parallelism: int | None = None) -> TransformNode:
    return TransformNode(
        id=number, name="map", uid=f"m{number}", inputs=inputs, kind="map", function=None, parallelism=parallelism
    )


def edges(graph: JobGraph) -> list[tuple[str, list[str]]]:
    return [(node.uid, [graph.by_id[i].uid for i in node.inputs]) for node in graph.nodes]


def job(*nodes: Node, **settings: Any) -> JobGraph:
    return JobGraph("job", (SOURCE, *nodes), **settings)


def test_an_operator_reads_its_partitioning_and_other_steps_read_an_exchange() -> None:
    operator = OperatorNode(id=2, name="process", uid="o2", inputs=(1,), spec=ProcessSpec(None, keyed=False))
    dead_letters = SideOutputNode(id=4, name="dead", uid="d4", inputs=(1,), tag="dead-letters")
    graph = add_exchanges(job(partitioning(1, 0), operator, transform(3, 1), dead_letters))
    assert edges(graph) == [
        ("numbers", []),
        ("p1", ["numbers"]),
        ("p1#exchange", ["p1"]),
        ("o2", ["p1"]),
        ("m3", ["p1#exchange"]),
        ("d4", ["p1"]),
    ]


def test_an_exchange_has_the_lowest_parallelism_of_its_readers() -> None:
    graph = add_exchanges(
        job(partitioning(1, 0), transform(2, 1, parallelism=3), transform(3, 1, parallelism=2), parallelism=4)
    )
    (exchange,) = graph.operators
    assert (exchange.spec, exchange.parallelism) == (ExchangeSpec(), 2)


def test_only_stateful_generators_become_operators() -> None:
    stateful = WatermarkNode(id=1, name="time", uid="w1", inputs=(0,), strategy=GENERATOR)
    built_in = WatermarkNode(id=2, name="time", uid="w2", inputs=(1,), strategy=WatermarkStrategy.no_watermarks())
    graph = job(stateful, built_in)
    assert edges(add_generator_operators(graph)) == [
        ("numbers", []),
        ("w1#split", ["numbers"]),
        ("w1#generator", ["w1#split"]),
        ("w2", ["w1#generator"]),
    ]
    assert isinstance(add_generator_operators(graph).operators[0].spec, GeneratorSpec)
    assert edges(add_generator_operators(job(stateful, built_in, batch_mode=True))) == edges(graph)


def test_a_rebalance_is_added_where_the_parallelism_changes() -> None:
    graph = add_rebalances(job(transform(1, 0, parallelism=2), transform(2, 1, parallelism=2), parallelism=4))
    assert edges(graph) == [
        ("numbers", []),
        ("m1#spread", ["numbers"]),
        ("m1#exchange", ["m1#spread"]),
        ("m1", ["m1#exchange"]),
        ("m2", ["m1"]),
    ]


def test_an_exchange_after_a_partitioning_already_has_the_parallelism_of_its_reader() -> None:
    graph = apply_passes(job(partitioning(1, 0), transform(2, 1, parallelism=2), parallelism=4))
    assert [node.uid for node in graph.nodes] == ["numbers", "p1", "p1#exchange", "m2"]


def test_passes_do_not_change_a_rewritten_graph() -> None:
    watermarks = WatermarkNode(id=2, name="time", uid="w2", inputs=(1,), strategy=GENERATOR)
    graph = apply_passes(job(partitioning(1, 0), watermarks, transform(3, 2, parallelism=2), parallelism=4))
    for rewrite in PASSES:
        assert rewrite(graph) == graph


def test_each_exchange_starts_a_level() -> None:
    watermarks = WatermarkNode(id=2, name="time", uid="w2", inputs=(1,), strategy=GENERATOR)
    levels = cut_into_levels(job(partitioning(1, 0), watermarks, transform(3, 2, parallelism=2), parallelism=4))
    assert [(node.uid, levels.level_of[node.id]) for node in levels.graph.operators] == [
        ("p1#exchange", 1),
        ("w2#generator", 2),
        ("m3#exchange", 3),
    ]
