"""Adds the nodes of a query to the job graph of an environment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.functions import DEAD_LETTERS
from penstock.plan.nodes import (
    Node,
    OperatorNode,
    PartitionNode,
    RelationalSpec,
    SideOutputNode,
    SinkNode,
    SourceNode,
    TransformNode,
    UnionNode,
    WatermarkNode,
)
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.evolution.meaning import WATERMARKS
from penstock.table.lower.lineage import ColumnLineage, Lineage, shortened, step_lineage, union_lineage
from penstock.table.lower.operator_meaning import operator_lineage, operator_meaning
from penstock.table.relations import Relation
from penstock.time import WatermarkStrategy
from penstock.types.logical.kinds import LogicalType


class GraphBuilder:
    """Adds nodes. The uid of a node follows from what it means, so that a query finds its state again.

    The uid of a source is that of its table, and of a sink that of its table. The uid of an operator is named by the query, or
    follows from its keys and inputs, without aliases, positions and aggregates.
    """

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._lineages: dict[int, Lineage] = {}  # by node id
        self._digests: dict[int, str] = {}  # by node id: of what a step computes
        self._used: dict[str, int] = {n.uid: 1 for n in env.nodes()}
        self._relations: list[Relation | None] = [None]
        self.ids: dict[int, list[str]] = {}  # of operators, by id() of their relations

    @contextmanager
    def of(self, relation: Relation) -> Iterator[None]:
        """Inside the block, operators belong to a relation, and have the uid of its hint if it has one. Blocks may be nested."""
        self._relations.append(relation)
        try:
            yield
        finally:
            self._relations.pop()

    def source(self, name: str, source: Any, meaning: str, on_error: str = "fail") -> Node:
        """Adds a source. `meaning` is the path of the table."""
        uid = self._unused(f"sql-{_digest('SourceNode', meaning)}")
        node = self._add(SourceNode, name, (), uid, source=source, on_error=on_error)
        self._lineages[node.id] = Lineage(shortened(meaning), (), (), (uid,))
        return node

    def step(
        self,
        name: str,
        step: Any,
        upstream: Node,
        meaning: str = "",
        on_error: str = "fail",
        columns: Sequence[str] | None = None,
    ) -> Node:
        """Adds a stateless step on columns. columns: the names of the columns of a table, for the step that reads them."""
        digest = _digest("TransformNode", meaning, self._digests.get(upstream.id, upstream.uid))
        fields = {"kind": "columns", "function": step, "on_error": on_error}
        node = self._add(TransformNode, name, (upstream,), self._unused(f"sql-{digest}"), **fields)
        self._digests[node.id] = digest
        before = self._lineage(upstream)
        if columns is None:
            self._lineages[node.id] = step_lineage(step, before, meaning, name)
        else:
            named = tuple(ColumnLineage.of(f"{before.base.rpartition('.')[2]}.{column}") for column in columns)
            self._lineages[node.id] = replace(before, columns=named)
        return node

    def dead_letters(self, upstream: Node) -> Node:
        """Adds the dead letters of a node."""
        uid = self._unused(f"{upstream.uid}-dead-letters")
        return self._add(SideOutputNode, "dead letters", (upstream,), uid, tag=DEAD_LETTERS.tag_id)

    def watermarks(self, name: str, strategy: WatermarkStrategy, upstream: Node) -> Node:
        """Adds the watermarks of a table. Their clocks belong to the source."""
        lineage = self._lineage(upstream)
        uid = self._unused(f"{lineage.sources[0] if lineage.sources else upstream.uid}{WATERMARKS}")
        node = self._add(WatermarkNode, name, (upstream,), uid, strategy=strategy, of_source=True)
        self._lineages[node.id] = lineage
        return node

    def operator(
        self,
        name: str,
        spec: Any,
        inputs: Sequence[tuple[Node, tuple[int, ...], Sequence[LogicalType]]],
        parallelism: int | None = None,
    ) -> Node:
        """Adds a relational operator after an exchange of each input by its key columns."""
        lineages = [self._lineage(node) for node, _, _ in inputs]
        relation = self._relations[-1]
        ids = self.ids.setdefault(id(relation), [])
        meaning = operator_meaning(spec, lineages, () if relation is None else relation.hints, len(ids))
        ids.append(meaning.id)
        uid = self._unused(meaning.id)
        partitions = []
        for number, (node, keys, types) in enumerate(inputs):
            key = ColumnKey(tuple(keys), tuple(types[k] for k in keys))
            exchange = f"{uid}-exchange-{number}"
            partitions.append(self._add(PartitionNode, "exchange", (node,), exchange, kind="key", selector=key))
        single = parallelism if any(keys for _, keys, _ in inputs) else 1
        described = RelationalSpec(spec, meaning)
        node = self._add(OperatorNode, name, tuple(partitions), uid, spec=described, parallelism=single)
        self._lineages[node.id] = operator_lineage(spec, meaning, lineages)
        return node

    def union(self, inputs: Sequence[Node]) -> Node:
        """Adds a union."""
        digest = _digest("UnionNode", *(self._digests.get(n.id, n.uid) for n in inputs))
        node = self._add(UnionNode, "union", tuple(inputs), self._unused(f"sql-{digest}"))
        self._lineages[node.id] = union_lineage([self._lineage(n) for n in inputs])
        return node

    def sink(self, name: str, sink: Any, upstream: Node, meaning: str, parallelism: int | None = None) -> Node:
        """Adds a sink. `meaning` is the path of the table."""
        uid = self._unused(f"sql-{_digest('SinkNode', meaning)}")
        return self._add(SinkNode, name, (upstream,), uid, sink=sink, parallelism=parallelism)

    def _lineage(self, node: Node) -> Lineage:
        """The lineage of a node. A stream of the program has its uid."""
        return self._lineages.get(node.id) or Lineage(node.uid, (), (), (node.uid,))

    def _unused(self, uid: str) -> str:
        """Returns a uid, with a number if other nodes have the same one."""
        number = self._used[uid] = self._used.get(uid, 0) + 1
        return uid if number == 1 else f"{uid}-{number}"

    def _add(self, node_type: type[Node], name: str, inputs: tuple[Node, ...], uid: str, **fields: Any) -> Node:
        env = self._env
        return env.add(
            node_type(id=env.next_id(), name=name, uid=uid, inputs=tuple(n.id for n in inputs), named=True, **fields)
        )


def _digest(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]
