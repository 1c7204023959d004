"""The graph of a job: its nodes in the order of their creation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.errors import PlanError
from penstock.plan.nodes import Node, OperatorNode, SinkNode, SourceNode

DEFAULT_NAME = "job"  # of a job without a name


@dataclass(frozen=True)
class JobGraph:
    """The nodes of a job, and its settings.

    >>> JobGraph(name="empty", nodes=()).sources
    ()
    """

    name: str
    nodes: tuple[Node, ...]
    parallelism: int = 1  # of operators that do not set their own
    max_parallelism: int = 128
    parameters: dict[str, str] = field(default_factory=dict)
    batch_mode: bool = False  # the input is bounded and is processed key by key
    object_reuse: bool = False  # elements are not copied between the functions of a task
    log_levels: Mapping[str, str] = field(default_factory=dict)  # of functions, by logger; the root logger is ""
    periodic_watermarks: bool = (
        False  # built-in strategies advance watermarks at the end of a batch, not after each record
    )

    @cached_property
    def slots(self) -> int:
        """The number of slots: the highest parallelism of the job and of its operators.

        Those of sources and sinks do not count: the number of source tasks depends on the splits, and sinks write in the tasks of
        the operators before them.
        """
        own = [
            n.parallelism for n in self.nodes if not isinstance(n, (SourceNode, SinkNode)) and n.parallelism is not None
        ]
        return max([self.parallelism, *own])

    @cached_property
    def by_id(self) -> dict[int, Node]:
        return {n.id: n for n in self.nodes}

    @cached_property
    def consumers(self) -> dict[int, list[Node]]:
        consumers: dict[int, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for upstream in dict.fromkeys(node.inputs):
                consumers[upstream].append(node)
        return consumers

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        return tuple(n for n in self.nodes if isinstance(n, SourceNode))

    @property
    def unbounded(self) -> bool:
        """Whether the job runs without end, because a source is unbounded."""
        return not self.batch_mode and any(not node.source.bounded for node in self.sources)

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        return tuple(n for n in self.nodes if isinstance(n, SinkNode))

    @property
    def operators(self) -> tuple[OperatorNode, ...]:
        return tuple(n for n in self.nodes if isinstance(n, OperatorNode))

    def rescaled(self, parallelism: int) -> JobGraph:
        """The job with another parallelism. Operators with a higher parallelism are limited to it."""
        return replace(self, nodes=limit_parallelism(self.nodes, parallelism), parallelism=parallelism)

    def validate(self) -> None:
        """Raises PlanError if the job cannot run."""
        if not self.sinks:
            raise PlanError(
                "NO_SINK",
                f"No operators defined in streaming topology: job '{self.name}' has no sink. "
                "Add sink_to() or print() to a stream.",
            )
        seen: dict[str, Node] = {}
        for node in self.nodes:
            other = seen.setdefault(node.uid, node)
            if other is not node:
                raise PlanError(
                    "DUPLICATE_UID",
                    f"Two operators have uid '{node.uid}': '{other.name}' ({other.line}) and '{node.name}' ({node.line}). "
                    "A checkpoint identifies operators by their uids. Set another uid for one of them.",
                )
            if node.max_parallelism not in (None, self.max_parallelism):
                raise PlanError(
                    "MAX_PARALLELISM",
                    f"Operator '{node.name}' has max parallelism {node.max_parallelism}, but the job has "
                    f"{self.max_parallelism}. All operators use the key groups of the job. Call env.set_max_parallelism().",
                )
        if self.max_parallelism < self.slots:
            raise PlanError(
                "MAX_PARALLELISM",
                f"The job has parallelism {self.slots} but only {self.max_parallelism} key groups (max parallelism), so "
                "some subtasks would never receive a key. Lower the parallelism or increase the max parallelism.",
            )


def limit_parallelism(nodes: Iterable[Node], limit: int) -> tuple[Node, ...]:
    """The nodes with a parallelism of at most `limit`."""
    return tuple(
        replace(n, parallelism=limit) if n.parallelism is not None and n.parallelism > limit else n for n in nodes
    )
