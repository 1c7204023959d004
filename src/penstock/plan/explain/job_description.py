"""The description of a job for `explain`: levels, steps, partitionings, state and windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.plan.explain.operator_details import describe_operator, operator_state_names
from penstock.plan.graph import JobGraph
from penstock.plan.levels import Levels, cut_into_levels
from penstock.plan.native import has_native_source, real_time_obstacles
from penstock.plan.nodes import (
    Node,
    OperatorNode,
    PartitionNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    UnionNode,
)

_NOT_STEPS = (PartitionNode, SideOutputNode, UnionNode)
_PARTITIONINGS = {"key": "hash", "split": "by split", "custom": "custom partitioner"}


@dataclass(frozen=True, slots=True)
class ExplainedEdge:
    """An input of a step: the source step, the partitioning, and the tag of a side output."""

    source: int
    partitioning: str = "forward"
    side_output: str = ""

    def __str__(self) -> str:
        """
        >>> str(ExplainedEdge(1, "hash", "late")), str(ExplainedEdge(1)), str(ExplainedEdge(1, "forward", "late"))
        ("hash, side output 'late'", 'forward', "side output 'late'")
        """
        if not self.side_output:
            return self.partitioning
        partitioning = "" if self.partitioning == "forward" else f"{self.partitioning}, "
        return f"{partitioning}side output '{self.side_output}'"


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A source, a stateless step, an operator or a sink."""

    id: int
    kind: str
    name: str
    uid: str
    level: int
    chain_position: int  # number of steps before it in its chain
    parallelism: int
    inputs: tuple[ExplainedEdge, ...]
    keyed: bool = False
    window: str = ""
    state: tuple[str, ...] = ()
    line: str = ""
    description: str = ""

    def details(self) -> list[str]:
        """Details other than name, uid and line."""
        details = [self.window] if self.window else [self.description] if self.description else []
        if self.kind == "operator":
            details.append(f"{'keyed, ' if self.keyed else ''}parallelism {self.parallelism}")
        if self.state:
            details.append(f"state {', '.join(self.state)}")
        return details


@dataclass(frozen=True)
class ExplainedJob:
    """All steps of a job. Inputs come before their readers."""

    name: str
    parallelism: int
    max_parallelism: int
    steps: tuple[ExplainedStep, ...]
    mode: str = "STREAMING"
    real_time: str = ""  # whether the job can run in real-time mode; empty for jobs without a streaming DataFrame

    @property
    def depth(self) -> int:
        return max((s.level for s in self.steps), default=0)

    def at(self, level: int) -> list[ExplainedStep]:
        return [s for s in self.steps if s.level == level]

    def by_id(self) -> dict[int, ExplainedStep]:
        return {s.id: s for s in self.steps}

    def readers(self) -> dict[int, list[tuple[ExplainedStep, ExplainedEdge]]]:
        """The readers of each step, with their edges."""
        readers: dict[int, list[tuple[ExplainedStep, ExplainedEdge]]] = {s.id: [] for s in self.steps}
        for step in self.steps:
            for edge in step.inputs:
                readers[edge.source].append((step, edge))
        return readers

    def as_dict(self) -> dict[str, Any]:
        """The job as plain dicts, for JSON."""
        job = asdict(self)
        for step in job["steps"]:
            step["place"] = step.pop("chain_position")  # the key that `explain --json` has always had
        return job


def describe_job(graph: JobGraph, mode: str = "STREAMING") -> ExplainedJob:
    """Describes a job graph, cut into levels.

    >>> describe_job(JobGraph("empty", ())).steps
    ()
    """
    levels = cut_into_levels(graph)
    steps: dict[int, ExplainedStep] = {}
    for node in levels.graph.nodes:
        if not isinstance(node, _NOT_STEPS):
            steps[node.id] = _step(node, levels, steps)
    return ExplainedJob(graph.name, graph.slots, graph.max_parallelism, tuple(steps.values()), mode, _real_time(graph))


def _real_time(graph: JobGraph) -> str:
    if not has_native_source(graph):
        return ""
    obstacles = real_time_obstacles(graph)
    return f"not possible: {'; '.join(obstacles)}" if obstacles else "possible: set execution.real-time-mode"


def _step(node: Node, levels: Levels, steps: dict[int, ExplainedStep]) -> ExplainedStep:
    edges = tuple(edge for i in node.inputs for edge in _edges(levels.graph, i))
    before = [steps[e.source] for e in edges]
    root = isinstance(node, (SourceNode, OperatorNode))
    level = levels.level_of[node.id] if root else max((s.level for s in before), default=0)
    within = [s for s in before if s.level == level]
    spec = node.spec if isinstance(node, OperatorNode) else None
    parallelism = levels.graph.parallelism if root or not within else max(s.parallelism for s in within)
    return ExplainedStep(
        id=node.id,
        kind=_kind(node),
        name=node.name,
        uid=node.uid,
        level=level,
        chain_position=0 if root else 1 + max((s.chain_position for s in within), default=-1),
        parallelism=node.parallelism or parallelism,
        inputs=edges,
        keyed=bool(getattr(spec, "keyed", False)) and any(e.partitioning == "hash" for e in edges),
        window=describe_operator(spec),
        state=tuple(operator_state_names(spec)),
        line=node.line,
        description=node.description,
    )


def _kind(node: Node) -> str:
    if isinstance(node, SourceNode):
        return "source"
    if isinstance(node, SinkNode):
        return "sink"
    return "operator" if isinstance(node, OperatorNode) else "step"


def _edges(graph: JobGraph, node_id: int) -> Iterator[ExplainedEdge]:
    """The steps that a node reads, with partitionings and side outputs on the way."""
    node = graph.by_id[node_id]
    if not isinstance(node, _NOT_STEPS):
        yield ExplainedEdge(node_id)
        return
    for edge in (edge for i in node.inputs for edge in _edges(graph, i)):
        if isinstance(node, PartitionNode):
            yield replace(edge, partitioning=_PARTITIONINGS.get(node.kind, node.kind))
        elif isinstance(node, SideOutputNode):
            yield replace(edge, side_output=node.tag)
        else:
            yield edge
