"""Builds the program of a job from its graph."""

from __future__ import annotations

from penstock.engine.program.operator_kinds import operator_traits
from penstock.engine.program.program import OperatorProgram, Program, SourceProgram, StreamProgram
from penstock.engine.program.steps import (
    CheckStep,
    ColumnRequest,
    DeclaredOutput,
    ElementType,
    SendStep,
    SinkStep,
    Step,
    TransformStep,
    WatermarkStep,
    all_steps,
)
from penstock.errors import PlanError
from penstock.functions import DEAD_LETTERS
from penstock.plan.aggregation import aggregation_of_node
from penstock.plan.element_types import forwards_elements
from penstock.plan.graph import JobGraph
from penstock.plan.levels import Levels, cut_into_levels
from penstock.plan.nodes import (
    Node,
    OperatorNode,
    PartitionNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    TransformNode,
    UnionNode,
    WatermarkNode,
)
from penstock.time import WatermarkStrategy
from penstock.types import TypeInformation


def build_program(graph: JobGraph) -> Program:
    """Checks a job graph, cuts it into levels and builds its program."""
    graph.validate()
    return _Builder(cut_into_levels(graph)).build()


class _Builder:
    """Builds one program. A `stream` argument is the watermark stream of the elements, -1 after an operator."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._graph = levels.graph
        self._streams: list[StreamProgram] = []
        self._operators = {n.id: self._operator(i, n) for i, n in enumerate(self._graph.operators)}
        self._sinks = {n.id: i for i, n in enumerate(self._graph.sinks)}

    def build(self) -> Program:
        graph = self._graph
        sources = [self._source(i, n) for i, n in enumerate(graph.sources)]
        for node in graph.operators:
            program = self._operators[node.id]
            if program.traits.generates_watermarks:
                program.generated_stream = self._generated_stream(node)
            program.chain = self._downstream(node, program.generated_stream, program)
            program.side_chains = {t: self._downstream(node, -1, program, t) for t in self._tags(node)}
        self._connect_channels(sources)
        return Program(
            graph.name,
            graph.slots,
            graph.max_parallelism,
            dict(graph.parameters),
            sources,
            self._streams,
            list(self._operators.values()),
            [n.sink for n in graph.sinks],
            [n.name for n in graph.sinks],
            self._levels.depth,
            sink_uids=[n.uid for n in graph.sinks],
            batch_mode=graph.batch_mode,
            object_reuse=graph.object_reuse,
            source_parallelism=graph.parallelism,
            log_levels=dict(graph.log_levels),
        )

    def _operator(self, number: int, node: OperatorNode) -> OperatorProgram:
        return OperatorProgram(
            number,
            node.uid,
            node.name,
            self._levels.level_of[node.id],
            node.spec,
            node.parallelism or self._graph.parallelism,
            node.on_error == "dead_letter",
            _checked_per_call(node),
            input_types=[self._certain_type(upstream) for upstream in self._inputs_of(node)],
            aggregation=aggregation_of_node(node),
            named=node.named,
            traits=operator_traits(node.spec.kind),
        )

    def _certain_type(self, node: Node) -> TypeInformation | None:
        known = self._element_type(node)
        return known.type_info if known is not None and known.certain else None

    def _generated_stream(self, node: OperatorNode) -> int:
        roots = [self._graph.by_id[r] for i in node.inputs for r in self._levels.roots_of(i)]
        if len(roots) != 1 or not isinstance(roots[0], SourceNode):
            raise PlanError(
                "GENERATOR_PLACE",
                f"'{node.name}' has a custom watermark generator that keeps state, but it does not directly follow a single "
                "source. Assign watermarks directly after the source, or set per_batch = True on the generator.",
            )
        source = self._graph.sources.index(roots[0])
        strategy = node.spec.strategy
        self._streams.append(self._stream(node.uid, source, -1, strategy))
        return len(self._streams) - 1

    def _stream(self, uid: str, source: int, operator: int, strategy: WatermarkStrategy | None = None) -> StreamProgram:
        """The watermark stream of a source, or of a strategy after a source or an operator."""
        stream = StreamProgram(uid, source, operator)
        if source >= 0:
            stream.transient_splits = self._graph.sources[source].source.transient_splits
        if strategy is not None:
            stream.idle_timeout = strategy.idle_timeout
            stream.alignment = strategy.alignment
            stream.follows_clock = strategy.kind == "ingestion"
            stream.periodic = strategy.kind in ("bounded", "columns") and self._graph.periodic_watermarks
            stream.ingestion = stream.follows_clock and operator < 0
        return stream

    def _source(self, number: int, node: SourceNode) -> SourceProgram:
        self._streams.append(self._stream(node.uid, number, -1))
        program = SourceProgram(number, node.uid, node.name, node.source, len(self._streams) - 1)
        program.chain = self._downstream(node, program.stream, None)
        program.on_error = node.on_error
        program.dead_letter_chain = self._downstream(node, program.stream, None, DEAD_LETTERS.tag_id)
        sends = [s for s in all_steps([*program.chain, *program.dead_letter_chain]) if isinstance(s, SendStep)]
        program.only_broadcast = bool(sends) and all(s.partition == "broadcast" for s in sends)
        return program

    def _downstream(self, node: Node, stream: int, root: OperatorProgram | None, tag: str | None = None) -> list[Step]:
        """The steps that read a node, or its side output if a tag is given."""
        steps: list[Step] = []
        for consumer in self._graph.consumers.get(node.id, []):
            if isinstance(consumer, SideOutputNode) != (tag is not None):
                continue
            if isinstance(consumer, SideOutputNode):
                if consumer.tag == tag:
                    steps += self._downstream(consumer, stream, root)
                continue
            for number, upstream in enumerate(consumer.inputs):
                if upstream == node.id:
                    steps += self._step(consumer, number, stream, root)
        if steps and node.checked and tag is None and _checked_per_call(node) is None:
            assert node.output_type is not None
            return [CheckStep(DeclaredOutput(node.name, node.line, node.output_type), steps)]
        return steps

    def _step(self, node: Node, number: int, stream: int, root: OperatorProgram | None) -> list[Step]:
        if isinstance(node, UnionNode):
            return self._downstream(node, stream, root)
        if isinstance(node, TransformNode):
            guarded, declared = node.on_error == "dead_letter", _checked_per_call(node)
            transform = TransformStep(node.uid, node.name, node.kind, node.function, number, guarded, declared)
            transform.settings = node.settings
            transform.next = self._downstream(node, stream, root)
            transform.side = {t: self._downstream(node, stream, root, t) for t in self._tags(node)}
            return [transform]
        if isinstance(node, WatermarkNode):
            return [self._watermarks(node, stream, root)]
        if isinstance(node, PartitionNode):
            sends = [self._send(node, consumer, stream) for consumer in self._readers(node)]
            for later in sends[1:]:
                later.reports_dead_letters = False
            if sends:
                sends[0].side = {t: self._downstream(node, stream, root, t) for t in self._tags(node)}
            return list(sends)
        if isinstance(node, SinkNode):
            sink = node.sink
            to_sink = SinkStep(
                node.uid, node.name, self._sinks[node.id], sink.wants_tags, sink.wants_timestamps, sink.wants_values
            )
            to_sink.function = sink.called_in_chain
            to_sink.side = {t: self._downstream(node, stream, root, t) for t in self._tags(node)}
            to_sink.element_type = self._element_type(self._graph.by_id[node.inputs[number]])
            return [to_sink]
        raise PlanError(
            "UNKNOWN_NODE", f"Node '{node.name}' has the type {type(node).__name__}, which cannot be part of a chain."
        )

    def _watermarks(self, node: WatermarkNode, stream: int, root: OperatorProgram | None) -> WatermarkStep:
        source = self._streams[stream].source if stream >= 0 else -1
        operator = -1 if root is None else root.number
        if node.strategy.alignment is not None and source < 0:
            raise PlanError(
                "ALIGNMENT_PLACE",
                f"'{node.name}' uses watermark alignment after an operator. Alignment pauses the splits of sources, so assign "
                "this strategy directly after a source.",
            )
        if node.strategy.alignment is not None and self._graph.sources[source].source.native:
            raise PlanError(
                "ALIGNMENT_PLACE",
                f"'{node.name}' uses watermark alignment after a streaming DataFrame. Spark plans the offsets of a DataFrame, so "
                "its splits cannot be paused. Use a Penstock source, or remove with_watermark_alignment.",
            )
        self._streams.append(self._stream(f"{node.uid}@{source}/{operator}", source, operator, node.strategy))
        step = WatermarkStep(node.uid, node.name, len(self._streams) - 1, node.strategy)
        step.guarded = node.on_error == "dead_letter"
        step.next = self._downstream(node, step.stream, root)
        step.side = {t: self._downstream(node, stream, root, t) for t in self._tags(node)}
        return step

    def _tags(self, node: Node) -> list[str]:
        return [c.tag for c in self._graph.consumers.get(node.id, []) if isinstance(c, SideOutputNode)]

    def _readers(self, node: PartitionNode) -> list[tuple[OperatorNode, int]]:
        return [
            (consumer, number)
            for consumer in self._graph.consumers.get(node.id, [])
            if isinstance(consumer, OperatorNode)
            for number, upstream in enumerate(consumer.inputs)
            if upstream == node.id
        ]

    def _send(self, node: PartitionNode, reader: tuple[OperatorNode, int], stream: int) -> SendStep:
        consumer, number = reader
        target = self._operators[consumer.id]
        return SendStep(
            node.uid,
            node.name,
            target.level,
            target.number,
            number,
            stream,
            node.kind,
            node.selector,
            node.partitioner,
            node.key_type,
            target.parallelism,
            node.on_error == "dead_letter",
            element_type=self._element_type(node),
            columns=self._columns(target, stream),
        )

    def _columns(self, target: OperatorProgram, stream: int) -> ColumnRequest | None:
        """What an operator that processes columns receives.

        Elements whose timestamps only hosts know cannot be combined before the shuffle.
        """
        aggregation = target.aggregation
        if aggregation is None:
            return None
        has_timestamps = not (stream >= 0 and self._streams[stream].ingestion)
        window = aggregation.window
        return ColumnRequest(
            aggregate=window.aggregate,
            assigner=window.assigner,
            combined=aggregation.combined and has_timestamps,
            on_grid=aggregation.on_grid and has_timestamps,
            values=aggregation.values,
            name=target.name,
            uid=target.uid,
        )

    def _element_type(self, node: Node) -> ElementType | None:
        """The known type of the elements of a node, and whether it is certain."""
        if node.output_type is None or not node.output_type.declared:
            return None
        origins = [node]
        while any(_only_forwards(n) for n in origins):
            origins = [u for n in origins for u in (self._inputs_of(n) if _only_forwards(n) else [n])]
        return ElementType(node.output_type, all(map(_is_certain, origins)))

    def _inputs_of(self, node: Node) -> list[Node]:
        return [self._graph.by_id[i] for i in node.inputs]

    def _connect_channels(self, sources: list[SourceProgram]) -> None:
        """Sets the channels of each operator, the levels that read each stream and operator, and branch numbers."""
        operators = list(self._operators.values())
        chains = [(-1, [*s.chain, *s.dead_letter_chain]) for s in sources]
        chains += [(o.number, chain) for o in operators for chain in (o.chain, *o.side_chains.values())]
        branches: dict[tuple[str, int], int] = {}
        for root, chain in chains:
            for step in all_steps(chain):
                if isinstance(step, (SendStep, SinkStep)):
                    to = ("operator", step.operator) if isinstance(step, SendStep) else ("sink", step.sink)
                    step.branch = branches[to] = branches.get(to, -1) + 1
                if not isinstance(step, SendStep):
                    continue
                reader = operators[step.operator]
                if step.stream >= 0:
                    if step.stream not in reader.streams:
                        reader.streams.append(step.stream)
                    self._streams[step.stream].levels.add(step.level)
                elif root not in reader.upstream_operators:
                    reader.upstream_operators.append(root)
                if root >= 0:
                    operators[root].relay_levels.add(step.level)


def _checked_per_call(node: Node) -> DeclaredOutput | None:
    """The declared type, if each call is checked against it so that a wrong result becomes a dead letter."""
    if node.on_error != "dead_letter" or not node.checked or isinstance(node, SourceNode):
        return None
    assert node.output_type is not None
    return DeclaredOutput(node.name, node.line, node.output_type)


def _only_forwards(node: Node) -> bool:
    """Whether elements only pass through a node. As in Flink, selectors, filters and assigners must not change them."""
    return not node.checked and not isinstance(node, SourceNode) and forwards_elements(node)


def _is_certain(node: Node) -> bool:
    """Whether the elements of a node certainly have its type: they were checked, or decoded as this type."""
    if node.checked and node.output_type is not None:
        return node.output_type.exact
    return isinstance(node, SourceNode) and bool(node.source.output_is_exact)
