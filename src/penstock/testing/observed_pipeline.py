"""A pipeline under test: elements can be pushed into its sources, and all its streams can be collected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.config.execution_options import OBJECT_REUSE, WATERMARK_EMISSION
from penstock.connectors.source import Source
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import PlanError
from penstock.functions import OutputTag
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, OperatorNode, SideOutputNode, SinkNode, SourceNode, TransformNode
from penstock.testing.collected import Collected, HarnessSink
from penstock.testing.pushed_source import PushableSource

_FIRST_ID = 1_000_000  # of nodes that the test adds


class ObservedPipeline:
    """The nodes of an environment and the sinks that a test adds. The environment is not changed."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._extra: list[Node] = []
        self._collected: dict[int, Collected] = {}  # by the id of the sink's node

    # -- streams to collect

    def stream(self, stream: DataStream[Any]) -> Collected:
        return self._collect([stream._node.id])

    def side_output(self, tag: OutputTag, of: DataStream[Any] | None) -> Collected:
        producers = (n.id for n in self._env._nodes if isinstance(n, (OperatorNode, TransformNode)))
        sides = []
        for producer in producers if of is None else [of._node.id]:
            number = self._next_id()
            self._extra.append(
                SideOutputNode(id=number, name="side", uid=f"harness-{number}", inputs=(producer,), tag=tag.tag_id)
            )
            sides.append(number)
        return self._collect(sides)

    def sink(self, name: str) -> Collected:
        sinks = [n for n in self._env._nodes if isinstance(n, SinkNode)]
        found = [n for n in sinks if name in (n.name, n.uid)]
        if len(found) != 1:
            raise _match_error("sink", name, len(found), sinks)
        return self._collected.setdefault(found[0].id, Collected())

    def _collect(self, inputs: list[int]) -> Collected:
        sink = self._new_sink(inputs)
        self._extra.append(sink)
        return self._collected.setdefault(sink.id, Collected())

    def _new_sink(self, inputs: list[int]) -> SinkNode:
        number = self._next_id()
        return SinkNode(id=number, name="collect", uid=f"harness-{number}", inputs=tuple(inputs), sink=HarnessSink())

    def _next_id(self) -> int:
        return _FIRST_ID + len(self._extra)

    # -- sources

    def sources(self) -> list[Source]:
        return [n.source for n in self._source_nodes()]

    def source(self, name: str | None) -> int:
        """Returns the number of a source, by uid or name. The name may be None if there is one source."""
        nodes = self._source_nodes()
        found = [i for i, n in enumerate(nodes) if name in (None, n.uid, n.name)]
        if len(found) != 1:
            raise _match_error("source", name, len(found), nodes)
        return found[0]

    def _source_nodes(self) -> list[SourceNode]:
        return [n for n in self._env._nodes if isinstance(n, SourceNode)]

    # -- the job

    def graph(self, parallelism: int, max_parallelism: int, real_sinks: bool, batch: bool = False) -> JobGraph:
        """Returns the graph of the job that the harness runs."""
        nodes: list[Node] = []
        for node in (*self._env._nodes, *self._extra):
            if isinstance(node, SourceNode):
                nodes.append(replace(node, source=PushableSource(node.source)))
            elif isinstance(node, SinkNode) and not real_sinks:
                nodes.append(replace(node, sink=HarnessSink()))
            else:
                nodes.append(node)
        if not any(isinstance(n, SinkNode) for n in nodes):  # a job needs a sink, even if the test collects nothing
            read = {i for n in nodes for i in n.inputs}
            nodes.append(self._new_sink([n.id for n in nodes if n.id not in read]))
        configuration = self._env.configuration
        return JobGraph(
            "harness",
            tuple(nodes),
            parallelism,
            max_parallelism,
            self._env.job_parameters(),
            batch_mode=batch,
            object_reuse=configuration.get(OBJECT_REUSE),
            periodic_watermarks=configuration.get(WATERMARK_EMISSION) == "per-batch",
            log_levels=self._env.log_levels(),
        )

    def outputs(self, graph: JobGraph) -> list[Collected]:
        """Returns the collections of all sinks, in the order of the sinks."""
        return [self._collected.setdefault(n.id, Collected()) for n in graph.sinks]


def _match_error(what: str, name: str | None, count: int, nodes: list[Any]) -> PlanError:
    names = ", ".join(f"'{n.uid}'" for n in nodes) or "none"
    problem = f"No {what} was named" if name is None else f"{count} {what}s match '{name}'"
    return PlanError(
        f"NO_SUCH_{what.upper()}",
        f"{problem}. The pipeline has {names}. Pass the uid or the name of one of them.",
    )
