"""Programs: the compiled form of a job. Plain data that the driver builds once and sends to all tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.engine.program.batch_partitions import BatchPartitions
from penstock.engine.program.steps import DeclaredOutput, Step, TransformStep, all_steps
from penstock.plan.aggregation import Aggregation
from penstock.state import StateDescriptor
from penstock.types import TypeInformation


@dataclass(slots=True)
class StreamProgram:
    """A watermark stream: the watermarks of a source, or those that a watermark step assigns after a source or an operator."""

    uid: str
    source: int  # number of the source before it, or -1
    operator: int  # number of the operator before it, or -1
    idle_timeout: int | None = None
    ingestion: bool = False  # timestamps and watermarks are the batch clock, which only hosts know (time-rules 7.4)
    levels: set[int] = field(default_factory=set)  # levels whose hosts read it
    transient_splits: str = "concurrent"  # of its source; see `Source.transient_splits`
    follows_clock: bool = False  # its watermark is the batch clock, also without records (time-rules 7.4)
    alignment: tuple[str, int] | None = None  # group and maximum drift in milliseconds
    periodic: bool = False  # its watermark advances at the end of a batch, not after each record (time-rules 1.3)


@dataclass(slots=True)
class SourceProgram:
    """A source and the chain of steps that read it."""

    number: int
    uid: str
    name: str
    source: Any
    stream: int
    only_broadcast: bool = False
    chain: list[Step] = field(default_factory=list)
    on_error: str = "fail"  # "fail", "dead_letter" or "skip": how to handle records that do not decode
    dead_letter_chain: list[Step] = field(default_factory=list)  # steps that read the dead letters of such records


@dataclass(frozen=True, slots=True)
class OperatorTraits:
    """Properties of an operator that decide how a host runs it. The table in `operator_kinds.py` sets them by kind."""

    has_broadcast_state: bool = False  # hosts hash its changes, so that the driver can compare all slots
    materializes: bool = False  # its output is stored with the batch and read again when the batch is repeated
    generates_watermarks: bool = False  # the host runs a watermark generator for each split instead of a loop


@dataclass(slots=True)
class OperatorProgram:
    """An operator, its inputs and the chains of steps that read it."""

    number: int
    uid: str
    name: str
    level: int
    spec: Any
    parallelism: int
    guarded: bool = False  # elements on which its function raises become dead letters
    declared: DeclaredOutput | None = None  # of a guarded operator: the type that each call is checked against
    streams: list[int] = field(default_factory=list)  # watermark streams that it reads
    upstream_operators: list[int] = field(default_factory=list)  # operators whose watermarks it reads
    chain: list[Step] = field(default_factory=list)
    side_chains: dict[str, list[Step]] = field(default_factory=dict)
    generated_stream: int = -1  # the watermark stream of a generator operator
    relay_levels: set[int] = field(default_factory=set)  # levels that read its watermark
    input_types: list[TypeInformation | None] = field(
        default_factory=list
    )  # None where elements may be of another type
    aggregation: Aggregation | None = None  # of windows that are computed by columns
    named: bool = False  # the program set its uid
    traits: OperatorTraits = field(default_factory=OperatorTraits)


@dataclass(slots=True)
class Program:
    """A job, ready to run."""

    name: str
    parallelism: int  # the number of slots
    max_parallelism: int
    parameters: dict[str, str]
    sources: list[SourceProgram]
    streams: list[StreamProgram]
    operators: list[OperatorProgram]
    sinks: list[Any]
    sink_names: list[str]
    depth: int
    caches_state: bool = False  # workers keep decoded state between batches (the hashmap backend)
    sink_uids: list[str] = field(default_factory=list)
    batch_mode: bool = False  # the whole input is one batch, processed key by key (time-rules 9)
    batch_partition_count: int = 1  # in batch mode: partitions of the keys of each slot
    max_records: int | None = None  # per batch and source, if the configuration limits them
    attempt: int = 0  # number of restarts so far
    object_reuse: bool = False  # elements are not copied between the functions of a task
    source_parallelism: int = 1  # the number of subtasks of functions in source tasks
    log_levels: dict[str, str] = field(default_factory=dict)  # by logger; the root logger is ""
    # States of a savepoint whose values are rewritten, by uid and state name.
    changed_states: dict[tuple[str, str], StateDescriptor] = field(default_factory=dict)
    # Operators of a resumed job whose stored keys have no declared type. See `restored_keys.py`.
    undeclared_keys: frozenset[str] = frozenset()

    @property
    def batch_partitions(self) -> BatchPartitions | None:
        """The addresses of elements in batch mode."""
        return BatchPartitions(self.parallelism, self.batch_partition_count) if self.batch_mode else None

    def operators_at(self, level: int) -> list[OperatorProgram]:
        return [o for o in self.operators if o.level == level]

    def control_levels(self) -> list[int]:
        """Levels that read a source. The control source sends its frames to them; other levels get relays."""
        return sorted({level for s in self.streams if s.source >= 0 for level in s.levels})

    def describe_operators(self) -> list[dict[str, Any]]:
        """The description of all operators that a checkpoint stores."""
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

    def components(self) -> list[tuple[str, str, str]]:
        """Sources, steps, operators and sinks as (kind, uid, name), in the order that elements pass them."""
        components: dict[str, tuple[str, str, str]] = {}
        for source in self.sources:
            components[source.uid] = ("source", source.uid, source.name)
            components |= _step_components([*source.chain, *source.dead_letter_chain])
        for operator in sorted(self.operators, key=lambda o: o.level):
            components[operator.uid] = ("operator", operator.uid, operator.name)
            for chain in (operator.chain, *operator.side_chains.values()):
                components |= _step_components(chain)
        components |= {uid: ("sink", uid, name) for uid, name in zip(self.sink_uids, self.sink_names, strict=True)}
        return list(components.values())


def _step_components(chain: list[Step]) -> dict[str, tuple[str, str, str]]:
    return {s.uid: ("step", s.uid, s.name) for s in all_steps(chain) if isinstance(s, TransformStep)}
