"""A job graph turned into programs: one mapper per source, one host per level. Plain data, made once on the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.engine.shares import Shares
from penstock.engine.steps import (
    CheckStep,
    ColumnsWanted,
    Declared,
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
from penstock.plan.aggregation import Aggregation, aggregation_of_node
from penstock.plan.element_types import passes_elements_on
from penstock.plan.graph import JobGraph
from penstock.plan.levels import Levels, cut
from penstock.plan.nodes import (
    GeneratorSpec,
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
from penstock.types import TypeInformation


@dataclass(slots=True)
class StreamProgram:
    """One stream of marks: a source's own, or what a watermark step made of it (or of an operator's output)."""

    uid: str
    source: int  # -1: behind an operator
    operator: int  # -1: behind a source
    idle_timeout: int | None = None
    ingestion: bool = False  # timestamps and watermarks are the batch clock's, which hosts know (time.md 7.4)
    levels: set[int] = field(default_factory=set)  # whose hosts listen to it
    alignment: tuple[str, int] | None = None  # group and drift


@dataclass(slots=True)
class SourceProgram:
    """A source and the chain on it."""

    number: int
    uid: str
    name: str
    source: Any
    stream: int
    only_broadcast: bool = False
    chain: list[Step] = field(default_factory=list)
    on_error: str = "fail"  # what becomes of records that do not decode
    dead: list[Step] = field(default_factory=list)  # the steps that read their dead letters


@dataclass(slots=True)
class OperatorProgram:
    """An operator, what it listens to, and the chain on it."""

    number: int
    uid: str
    name: str
    level: int
    spec: Any
    parallelism: int
    guarded: bool = False  # elements on which its function raises become dead letters
    declared: Declared | None = None  # of a guarded operator: what it emits, checked call by call
    streams: list[int] = field(default_factory=list)  # its channels: streams of marks,
    edges: list[int] = field(default_factory=list)  # and operators
    chain: list[Step] = field(default_factory=list)
    side: dict[str, list[Step]] = field(default_factory=dict)
    own_stream: int = -1  # of a watermark generator's host
    relay_levels: set[int] = field(default_factory=set)
    input_types: list[TypeInformation | None] = field(default_factory=list)  # where they are certain
    aggregation: Aggregation | None = None  # of windows that are worked out by columns
    named: bool = False  # its uid was given, not made from its name and number


@dataclass(slots=True)
class Program:
    """A whole job, ready to run."""

    name: str
    parallelism: int
    max_parallelism: int
    parameters: dict[str, str]
    sources: list[SourceProgram]
    streams: list[StreamProgram]
    operators: list[OperatorProgram]
    sinks: list[Any]
    sink_names: list[str]
    depth: int
    cached: bool = False  # decoded state outlives a batch in its worker: the hashmap backend
    sink_uids: list[str] = field(default_factory=list)
    batch: bool = False  # batch mode: all input in one batch, key by key (time.md 9)
    share_count: int = 1  # batch mode: shares of keys in each slot
    attempt: int = 0  # how often the job was restarted

    @property
    def shares(self) -> Shares | None:
        """How elements are addressed in batch mode."""
        return Shares(self.parallelism, self.share_count) if self.batch else None

    def operators_at(self, level: int) -> list[OperatorProgram]:
        return [o for o in self.operators if o.level == level]

    def control_levels(self) -> list[int]:
        """The levels that a source feeds directly: the control source speaks to them, relays to the others."""
        return sorted({level for s in self.streams if s.source >= 0 for level in s.levels})

    def describe(self) -> list[dict[str, Any]]:
        """What a checkpoint remembers of the job's operators."""
        return [
            {
                "uid": o.uid,
                "name": o.name,
                "kind": o.spec.kind,
                "keyed": o.spec.keyed,
                "level": o.level,
                "parallelism": o.parallelism,
                "given_uid": o.named,
            }
            for o in self.operators
        ]

    def parts(self) -> list[tuple[str, str, str]]:
        """All that elements pass, in their order, as (kind, uid, name): sources, steps, operators, sinks."""
        found: dict[str, tuple[str, str, str]] = {}
        for source in self.sources:
            found[source.uid] = ("source", source.uid, source.name)
            found |= _parts_of([*source.chain, *source.dead])
        for operator in sorted(self.operators, key=lambda o: o.level):
            found[operator.uid] = ("operator", operator.uid, operator.name)
            for chain in (operator.chain, *operator.side.values()):
                found |= _parts_of(chain)
        found |= {uid: ("sink", uid, name) for uid, name in zip(self.sink_uids, self.sink_names, strict=True)}
        return list(found.values())


def _parts_of(chain: list[Step]) -> dict[str, tuple[str, str, str]]:
    return {s.uid: ("step", s.uid, s.name) for s in all_steps(chain) if isinstance(s, TransformStep)}


def build(graph: JobGraph) -> Program:
    """The program of a job."""
    graph.validate()
    return _Builder(cut(graph)).build()


class _Builder:
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
            if isinstance(node.spec, GeneratorSpec):
                program.own_stream = self._generated_stream(node)
            program.chain = self._behind(node, program.own_stream, program)
            program.side = {t: self._behind(node, -1, program, t) for t in self._tags(node)}
        self._listen(sources)
        return Program(
            graph.name,
            graph.parallelism,
            graph.max_parallelism,
            dict(graph.parameters),
            sources,
            self._streams,
            list(self._operators.values()),
            [n.sink for n in graph.sinks],
            [n.name for n in graph.sinks],
            self._levels.depth,
            sink_uids=[n.uid for n in graph.sinks],
            batch=graph.batch,
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
            _declared_call_by_call(node),
            input_types=[self._certain_type(upstream) for upstream in self._inputs_of(node)],
            aggregation=aggregation_of_node(node),
            named=node.named,
        )

    def _certain_type(self, node: Node) -> TypeInformation | None:
        known = self._element_type(node)
        return known.type_info if known is not None and known.certain else None

    def _generated_stream(self, node: OperatorNode) -> int:
        roots = [self._graph.by_id[r] for i in node.inputs for r in self._levels.roots_of(i)]
        if len(roots) != 1 or not isinstance(roots[0], SourceNode):
            raise PlanError(
                "GENERATOR_PLACE",
                f"'{node.name}' has a watermark generator of its own that keeps state, and does not stand directly behind one "
                "source. Put it there, or set per_batch = True on the generator.",
            )
        source = self._graph.sources.index(roots[0])
        strategy = node.spec.strategy
        self._streams.append(StreamProgram(node.uid, source, -1, strategy.idle_timeout, alignment=strategy.alignment))
        return len(self._streams) - 1

    def _source(self, number: int, node: SourceNode) -> SourceProgram:
        self._streams.append(StreamProgram(node.uid, number, -1))
        program = SourceProgram(number, node.uid, node.name, node.source, len(self._streams) - 1)
        program.chain = self._behind(node, program.stream, None)
        program.on_error = node.on_error
        program.dead = self._behind(node, program.stream, None, DEAD_LETTERS.tag_id)
        sends = [s for s in all_steps([*program.chain, *program.dead]) if isinstance(s, SendStep)]
        program.only_broadcast = bool(sends) and all(s.partition == "broadcast" for s in sends)
        return program

    def _behind(self, node: Node, stream: int, root: OperatorProgram | None, tag: str | None = None) -> list[Step]:
        """The steps that read a node (its side output, given a tag)."""
        steps: list[Step] = []
        for consumer in self._graph.consumers.get(node.id, []):
            if isinstance(consumer, SideOutputNode) != (tag is not None):
                continue
            if isinstance(consumer, SideOutputNode):
                if consumer.tag == tag:
                    steps += self._behind(consumer, stream, root)
                continue
            for number, upstream in enumerate(consumer.inputs):
                if upstream == node.id:
                    steps += self._step(consumer, number, stream, root)
        if steps and node.checked and tag is None and _declared_call_by_call(node) is None:
            assert node.output_type is not None
            return [CheckStep(Declared(node.name, node.line, node.output_type), steps)]
        return steps

    def _step(self, node: Node, number: int, stream: int, root: OperatorProgram | None) -> list[Step]:
        if isinstance(node, UnionNode):
            return self._behind(node, stream, root)
        if isinstance(node, TransformNode):
            guarded, declared = node.on_error == "dead_letter", _declared_call_by_call(node)
            transform = TransformStep(node.uid, node.name, node.kind, node.function, number, guarded, declared)
            transform.settings = node.settings
            transform.next = self._behind(node, stream, root)
            transform.side = {t: self._behind(node, stream, root, t) for t in self._tags(node)}
            return [transform]
        if isinstance(node, WatermarkNode):
            return [self._watermarks(node, stream, root)]
        if isinstance(node, PartitionNode):
            sends = [self._send(node, consumer, stream) for consumer in self._readers(node)]
            for later in sends[1:]:
                later.tells = False
            if sends:
                sends[0].side = {t: self._behind(node, stream, root, t) for t in self._tags(node)}
            return list(sends)
        if isinstance(node, SinkNode):
            sink = node.sink
            to_sink = SinkStep(
                node.uid, node.name, self._sinks[node.id], sink.wants_tags, sink.wants_timestamps, sink.wants_values
            )
            to_sink.function = sink.called_in_chain
            to_sink.side = {t: self._behind(node, stream, root, t) for t in self._tags(node)}
            to_sink.element_type = self._element_type(self._graph.by_id[node.inputs[number]])
            return [to_sink]
        raise PlanError("UNKNOWN_NODE", f"Node '{node.name}' of kind {type(node).__name__} cannot stand in a chain.")

    def _watermarks(self, node: WatermarkNode, stream: int, root: OperatorProgram | None) -> WatermarkStep:
        source = self._streams[stream].source if stream >= 0 else -1
        operator = -1 if root is None else root.number
        uid, ingestion = f"{node.uid}@{source}/{operator}", node.strategy.kind == "ingestion" and operator < 0
        if node.strategy.alignment is not None and source < 0:
            raise PlanError(
                "ALIGNMENT_PLACE",
                f"'{node.name}' asks for watermark alignment behind an operator. Alignment holds sources back: put the strategy "
                "directly behind a source.",
            )
        if node.strategy.alignment is not None and self._graph.sources[source].source.native:
            raise PlanError(
                "ALIGNMENT_PLACE",
                f"'{node.name}' asks for watermark alignment behind a streaming DataFrame, whose offsets Spark plans: it cannot be "
                "held back. Use a source of Penstock's own, or leave alignment out.",
            )
        made = StreamProgram(uid, source, operator, node.strategy.idle_timeout, ingestion)
        made.alignment = node.strategy.alignment
        self._streams.append(made)
        step = WatermarkStep(node.uid, node.name, len(self._streams) - 1, node.strategy)
        step.guarded = node.on_error == "dead_letter"
        step.next = self._behind(node, step.stream, root)
        step.side = {t: self._behind(node, stream, root, t) for t in self._tags(node)}
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

    def _columns(self, target: OperatorProgram, stream: int) -> ColumnsWanted | None:
        """What an operator by columns is sent. Elements whose time only hosts know cannot be combined before."""
        how = target.aggregation
        if how is None:
            return None
        timed = not (stream >= 0 and self._streams[stream].ingestion)
        window = how.window
        return ColumnsWanted(
            aggregate=window.aggregate,
            assigner=window.assigner,
            combined=how.combined and timed,
            on_grid=how.on_grid and timed,
            values=how.values,
            name=target.name,
            uid=target.uid,
        )

    def _element_type(self, node: Node) -> ElementType | None:
        """What is known of a node's elements, and whether it is certain."""
        if node.output_type is None or not node.output_type.declared:
            return None
        origins = [node]
        while any(_is_way(n) for n in origins):
            origins = [u for n in origins for u in (self._inputs_of(n) if _is_way(n) else [n])]
        return ElementType(node.output_type, all(map(_is_certain, origins)))

    def _inputs_of(self, node: Node) -> list[Node]:
        return [self._graph.by_id[i] for i in node.inputs]

    def _listen(self, sources: list[SourceProgram]) -> None:
        """Tells each operator its channels, each stream and operator the levels that must hear of it."""
        operators = list(self._operators.values())
        chains = [(-1, [*s.chain, *s.dead]) for s in sources]
        chains += [(o.number, chain) for o in operators for chain in (o.chain, *o.side.values())]
        ways: dict[tuple[str, int], int] = {}
        for root, chain in chains:
            for step in all_steps(chain):
                if isinstance(step, (SendStep, SinkStep)):
                    to = ("operator", step.operator) if isinstance(step, SendStep) else ("sink", step.sink)
                    step.branch = ways[to] = ways.get(to, -1) + 1
                if not isinstance(step, SendStep):
                    continue
                reader = operators[step.operator]
                if step.stream >= 0:
                    if step.stream not in reader.streams:
                        reader.streams.append(step.stream)
                    self._streams[step.stream].levels.add(step.level)
                elif root not in reader.edges:
                    reader.edges.append(root)
                if root >= 0:
                    operators[root].relay_levels.add(step.level)


def _declared_call_by_call(node: Node) -> Declared | None:
    """What is checked call by call, so that an element whose call gives something else can be put aside."""
    if node.on_error != "dead_letter" or not node.checked or isinstance(node, SourceNode):
        return None
    assert node.output_type is not None
    return Declared(node.name, node.line, node.output_type)


def _is_way(node: Node) -> bool:
    """Whether elements only pass through a node. Selectors, filters and timestamp assigners may not change them (as in Flink)."""
    return not node.checked and not isinstance(node, SourceNode) and passes_elements_on(node)


def _is_certain(node: Node) -> bool:
    """Whether a node's elements need not be looked at again: they were just checked, or decoded as what they are."""
    if node.checked and node.output_type is not None:
        return node.output_type.exact
    return isinstance(node, SourceNode) and bool(node.source.output_is_exact)
