"""A job: its nodes in the order they were made, checked once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from penstock.errors import PlanError
from penstock.plan.nodes import Node, OperatorNode, SinkNode, SourceNode


@dataclass(frozen=True)
class JobGraph:
    """All nodes of a job and what they share.

    >>> JobGraph(name="empty", nodes=()).sources
    ()
    """

    name: str
    nodes: tuple[Node, ...]
    parallelism: int = 1
    max_parallelism: int = 128
    parameters: dict[str, str] = field(default_factory=dict)
    batch: bool = False  # run in batch mode: all input is there, and is taken key by key

    @cached_property
    def by_id(self) -> dict[int, Node]:
        return {n.id: n for n in self.nodes}

    @cached_property
    def consumers(self) -> dict[int, list[Node]]:
        found: dict[int, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for upstream in dict.fromkeys(node.inputs):
                found[upstream].append(node)
        return found

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        return tuple(n for n in self.nodes if isinstance(n, SourceNode))

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        return tuple(n for n in self.nodes if isinstance(n, SinkNode))

    @property
    def operators(self) -> tuple[OperatorNode, ...]:
        return tuple(n for n in self.nodes if isinstance(n, OperatorNode))

    def validate(self) -> None:
        """Refuses what cannot run, in the words of the program."""
        if not self.sinks:
            raise PlanError(
                "NO_SINK",
                f"No operators defined in streaming topology: job '{self.name}' has no sink, so nothing would come out. "
                "Add sink_to() or print() to a stream.",
            )
        seen: dict[str, Node] = {}
        for node in self.nodes:
            other = seen.setdefault(node.uid, node)
            if other is not node:
                raise PlanError(
                    "DUPLICATE_UID",
                    f"Two operators have uid '{node.uid}': '{other.name}' ({other.line}) and '{node.name}' ({node.line}); "
                    "a checkpoint could not tell them apart. Give one of them another uid.",
                )
            wanted = node.parallelism
            if wanted is not None and not 1 <= wanted <= self.parallelism:
                raise PlanError(
                    "PARALLELISM",
                    f"Operator '{node.name}' wants parallelism {wanted}, and the job has {self.parallelism}. Spark gives all "
                    "stages of one query the same number of partitions, so an operator can have less but not more: "
                    "raise the job's parallelism with env.set_parallelism().",
                )
            if node.max_parallelism not in (None, self.max_parallelism):
                raise PlanError(
                    "MAX_PARALLELISM",
                    f"Operator '{node.name}' wants max parallelism {node.max_parallelism}, and the job has "
                    f"{self.max_parallelism}. All operators share the job's key groups: call env.set_max_parallelism().",
                )
        if self.max_parallelism < self.parallelism:
            raise PlanError(
                "MAX_PARALLELISM",
                f"The job has parallelism {self.parallelism} and only {self.max_parallelism} key groups (max_parallelism); "
                "some subtasks would never get a key. Lower the one or raise the other.",
            )
