"""A job as it will run, in words: levels, steps, how elements get from one to the next, state and windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.plan.graph import JobGraph
from penstock.plan.levels import Levels, cut
from penstock.plan.native import reads_natively, real_time_obstacles
from penstock.plan.nodes import (
    Node,
    OperatorNode,
    PartitionNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    UnionNode,
)
from penstock.plan.operator_words import states, words

_BETWEEN = (PartitionNode, SideOutputNode, UnionNode)
_WORDS = {"key": "hash", "split": "by split", "custom": "custom partitioner"}


@dataclass(frozen=True, slots=True)
class Edge:
    """How a step gets its elements: from which step, by which partitioning, and of which side output."""

    source: int
    partitioning: str = "forward"
    side_output: str = ""

    def __str__(self) -> str:
        """
        >>> str(Edge(1, "hash", "late")), str(Edge(1)), str(Edge(1, "forward", "late"))
        ("hash, side output 'late'", 'forward', "side output 'late'")
        """
        if not self.side_output:
            return self.partitioning
        way = "" if self.partitioning == "forward" else f"{self.partitioning}, "
        return f"{way}side output '{self.side_output}'"


@dataclass(frozen=True, slots=True)
class Step:
    """A source, a stateless step, an operator or a sink. `place` counts the steps of its chain before it."""

    id: int
    kind: str
    name: str
    uid: str
    level: int
    place: int
    parallelism: int
    inputs: tuple[Edge, ...]
    keyed: bool = False
    window: str = ""
    state: tuple[str, ...] = ()
    line: str = ""
    description: str = ""

    def details(self) -> list[str]:
        """What there is to say of it beside its name, uid and line."""
        said = [self.window] if self.window else [self.description] if self.description else []
        if self.kind == "operator":
            said.append(f"{'keyed, ' if self.keyed else ''}parallelism {self.parallelism}")
        if self.state:
            said.append(f"state {', '.join(self.state)}")
        return said


@dataclass(frozen=True)
class ExplainedJob:
    """All steps of a job, inputs first."""

    name: str
    parallelism: int
    max_parallelism: int
    steps: tuple[Step, ...]
    mode: str = "STREAMING"
    real_time: str = ""  # whether the job may run in Spark's real-time mode; empty where the question does not arise

    @property
    def depth(self) -> int:
        return max((s.level for s in self.steps), default=0)

    def at(self, level: int) -> list[Step]:
        return [s for s in self.steps if s.level == level]

    def by_id(self) -> dict[int, Step]:
        return {s.id: s for s in self.steps}

    def readers(self) -> dict[int, list[tuple[Step, Edge]]]:
        """The steps that read each step."""
        found: dict[int, list[tuple[Step, Edge]]] = {s.id: [] for s in self.steps}
        for step in self.steps:
            for edge in step.inputs:
                found[edge.source].append((step, edge))
        return found

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def explained(graph: JobGraph, mode: str = "STREAMING") -> ExplainedJob:
    """A job graph, cut into levels as it would run.

    >>> explained(JobGraph("empty", ())).steps
    ()
    """
    levels = cut(graph)
    steps: dict[int, Step] = {}
    for node in levels.graph.nodes:
        if not isinstance(node, _BETWEEN):
            steps[node.id] = _step(node, levels, steps)
    return ExplainedJob(
        graph.name, graph.parallelism, graph.max_parallelism, tuple(steps.values()), mode, _real_time(graph)
    )


def _real_time(graph: JobGraph) -> str:
    if not reads_natively(graph):
        return ""
    obstacles = real_time_obstacles(graph)
    return f"not possible: {'; '.join(obstacles)}" if obstacles else "possible: set execution.real-time-mode"


def _step(node: Node, levels: Levels, steps: dict[int, Step]) -> Step:
    edges = tuple(edge for i in node.inputs for edge in _edges(levels.graph, i))
    before = [steps[e.source] for e in edges]
    root = isinstance(node, (SourceNode, OperatorNode))
    level = levels.level_of[node.id] if root else max((s.level for s in before), default=0)
    within = [s for s in before if s.level == level]
    spec = node.spec if isinstance(node, OperatorNode) else None
    wide = levels.graph.parallelism if root or not within else max(s.parallelism for s in within)
    return Step(
        id=node.id,
        kind=_kind(node),
        name=node.name,
        uid=node.uid,
        level=level,
        place=0 if root else 1 + max((s.place for s in within), default=-1),
        parallelism=node.parallelism or wide,
        inputs=edges,
        keyed=bool(getattr(spec, "keyed", False)) and any(e.partitioning == "hash" for e in edges),
        window=words(spec),
        state=tuple(states(spec)),
        line=node.line,
        description=node.description,
    )


def _kind(node: Node) -> str:
    if isinstance(node, SourceNode):
        return "source"
    if isinstance(node, SinkNode):
        return "sink"
    return "operator" if isinstance(node, OperatorNode) else "step"


def _edges(graph: JobGraph, node_id: int) -> Iterator[Edge]:
    """The steps behind a node, through all that only says how elements travel."""
    node = graph.by_id[node_id]
    if not isinstance(node, _BETWEEN):
        yield Edge(node_id)
        return
    for edge in (edge for i in node.inputs for edge in _edges(graph, i)):
        if isinstance(node, PartitionNode):
            yield replace(edge, partitioning=_WORDS.get(node.kind, node.kind))
        elif isinstance(node, SideOutputNode):
            yield replace(edge, side_output=node.tag)
        else:
            yield edge
