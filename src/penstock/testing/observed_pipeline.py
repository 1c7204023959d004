"""A pipeline as a test sees it: its sources can be pushed to, and any of its streams can be looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.connectors.source import Source
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import PlanError
from penstock.functions import OutputTag
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, OperatorNode, SideOutputNode, SinkNode, SourceNode, TransformNode
from penstock.testing.collected import Collected, HarnessSink
from penstock.testing.push import Pushable

_FIRST_ID = 1_000_000  # of nodes that stand beside the pipeline's own


class WatchedPipeline:
    """The nodes of an environment and, beside them, the sinks of a test. The environment itself stays as it is."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._extra: list[Node] = []
        self._collected: dict[int, Collected] = {}  # by the id of the sink's node

    # -- what to look at

    def stream(self, stream: DataStream[Any]) -> Collected:
        return self._look_at([stream._node.id])

    def side_output(self, tag: OutputTag, of: DataStream[Any] | None) -> Collected:
        makers = (n.id for n in self._env._nodes if isinstance(n, (OperatorNode, TransformNode)))
        sides = []
        for maker in makers if of is None else [of._node.id]:
            number = self._next_id()
            self._extra.append(
                SideOutputNode(id=number, name="side", uid=f"harness-{number}", inputs=(maker,), tag=tag.tag_id)
            )
            sides.append(number)
        return self._look_at(sides)

    def sink(self, name: str) -> Collected:
        sinks = [n for n in self._env._nodes if isinstance(n, SinkNode)]
        found = [n for n in sinks if name in (n.name, n.uid)]
        if len(found) != 1:
            raise _not_one("sink", name, len(found), sinks)
        return self._collected.setdefault(found[0].id, Collected())

    def _look_at(self, inputs: list[int]) -> Collected:
        sink = self._new_sink(inputs)
        self._extra.append(sink)
        return self._collected.setdefault(sink.id, Collected())

    def _new_sink(self, inputs: list[int]) -> SinkNode:
        number = self._next_id()
        return SinkNode(id=number, name="collect", uid=f"harness-{number}", inputs=tuple(inputs), sink=HarnessSink())

    def _next_id(self) -> int:
        return _FIRST_ID + len(self._extra)

    # -- its sources

    def sources(self) -> list[Source]:
        return [n.source for n in self._source_nodes()]

    def source(self, name: str | None) -> int:
        """The number of a source, by its uid or name; of the only one when there is one."""
        nodes = self._source_nodes()
        found = [i for i, n in enumerate(nodes) if name in (None, n.uid, n.name)]
        if len(found) != 1:
            raise _not_one("source", name, len(found), nodes)
        return found[0]

    def _source_nodes(self) -> list[SourceNode]:
        return [n for n in self._env._nodes if isinstance(n, SourceNode)]

    # -- the job

    def graph(self, parallelism: int, max_parallelism: int, real_sinks: bool, batch: bool = False) -> JobGraph:
        """The job that runs in the harness."""
        nodes: list[Node] = []
        for node in (*self._env._nodes, *self._extra):
            if isinstance(node, SourceNode):
                nodes.append(replace(node, source=Pushable(node.source)))
            elif isinstance(node, SinkNode) and not real_sinks:
                nodes.append(replace(node, sink=HarnessSink()))
            else:
                nodes.append(node)
        if not any(isinstance(n, SinkNode) for n in nodes):  # nobody looks at anything, and it runs all the same
            read = {i for n in nodes for i in n.inputs}
            nodes.append(self._new_sink([n.id for n in nodes if n.id not in read]))
        return JobGraph("harness", tuple(nodes), parallelism, max_parallelism, self._env.job_parameters(), batch)

    def outputs(self, graph: JobGraph) -> list[Collected]:
        """Where the elements of each sink go, in the order of the sinks."""
        return [self._collected.setdefault(n.id, Collected()) for n in graph.sinks]


def _not_one(what: str, name: str | None, count: int, nodes: list[Any]) -> PlanError:
    names = ", ".join(f"'{n.uid}'" for n in nodes) or "none"
    asked = "was not named" if name is None else f"'{name}' was asked for"
    return PlanError(
        f"NO_SUCH_{what.upper()}",
        f"A {what} {asked}, and {count} fit; the pipeline has {names}. Give the uid or name of one.",
    )
