"""The nodes of a job graph. The DataStream API creates them; the engine and `explain` read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.plan.windows import WindowDescription
from penstock.time import WatermarkStrategy
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A step of the job. `inputs` are node ids; `uid` identifies its state in checkpoints."""

    id: int
    name: str
    uid: str
    inputs: tuple[int, ...] = ()
    parallelism: int | None = None
    line: str = ""  # file and line of the program that created it
    description: str = ""
    max_parallelism: int | None = None
    on_error: str = "fail"  # or "dead_letter", for sources also "skip": what to do if a function raises
    output_type: TypeInformation | None = None  # of its elements, if known
    named: bool = False  # the program set its uid
    checked: bool = False  # the program declared the type, so elements are converted to it and checked


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNode(Node):
    """A source."""

    source: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkNode(Node):
    """Assigns timestamps and watermarks."""

    strategy: WatermarkStrategy
    of_source: bool = False  # created by from_source; its side outputs include the dead letters of the source


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformNode(Node):
    """A stateless function. `kind` is "map", "flat_map", "filter", "process" or "async". With two inputs, a co-function.

    In tables, the kind is "columns", and the function is a `ColumnStep` (runtime/relational/column_step.py).
    """

    kind: str
    function: Any
    settings: Any = None  # of asynchronous calls


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionNode(Node):
    """A partitioning of elements to subtasks.

    Kinds: "key", "rebalance", "shuffle", "rescale", "forward", "broadcast", "global", "custom", "split".
    """

    kind: str
    selector: Any = None
    partitioner: Any = None
    key_type: TypeInformation | None = None  # the declared type that keys are converted to and checked against


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorNode(Node):
    """An operator with one subtask per slot. The engine creates it from `spec` (engine/program/operator_kinds.py)."""

    spec: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionNode(Node):
    """The union of its inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOutputNode(Node):
    """The side output of a node with a tag."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkNode(Node):
    """A sink."""

    sink: Any


# -- specifications of operators


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process function with one or two inputs."""

    function: Any
    keyed: bool
    two_inputs: bool = False
    kind: str = "process"


@dataclass(frozen=True, slots=True)
class BroadcastSpec:
    """A function with a broadcast stream as its second input."""

    function: Any
    keyed: bool
    states: tuple[Any, ...]
    kind: str = "broadcast"


@dataclass(frozen=True, slots=True)
class ExchangeSpec:
    """Forwards its input, to move elements to other subtasks."""

    kind: str = "exchange"
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window operator."""

    window: WindowDescription
    kind: str = "window"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec:
    """Joins elements of two keyed streams whose timestamps differ by `lower` to `upper` milliseconds."""

    function: Any
    lower: int
    upper: int
    lower_inclusive: bool = True
    upper_inclusive: bool = True
    left_late_tag: Any = None
    right_late_tag: Any = None
    kind: str = "interval_join"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class CoGroupSpec:
    """Windows over two keyed streams. `of` is the kind of function: "co_group", "join" or "flat_join"."""

    function: Any
    of: str
    assigner: Any
    trigger: Any = None  # None for the default trigger of the assigner
    evictor: Any = None
    allowed_lateness: int = 0  # milliseconds
    kind: str = "co_group"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """A CEP pattern over the events of a key."""

    pattern: Any
    function: Any
    event_time: bool = True
    comparator: Any = None
    late_tag: Any = None
    keyed: bool = True
    kind: str = "cep"


@dataclass(frozen=True, slots=True)
class DynamicPatternSpec:
    """CEP patterns from a broadcast stream, over the events of a key. `pattern_of` converts an element to a pattern."""

    pattern_of: Any
    function: Any
    event_time: bool = True
    comparator: Any = None
    late_tag: Any = None
    keyed: bool = True
    kind: str = "dynamic_cep"


@dataclass(frozen=True, slots=True)
class FactorySpec:
    """An operator created by a picklable factory, for operators without an API and for tests."""

    factory: Any
    keyed: bool = True
    kind: str = "factory"


@dataclass(frozen=True, slots=True)
class CachedLookupSpec:
    """An asynchronous lookup by key whose results are cached in state."""

    function: Any
    settings: Any
    ttl: int  # milliseconds
    output: Any  # function of an element and its lookup result
    caches_none: bool
    answer_type: TypeInformation | None = None  # None if results are pickled
    kind: str = "cached_lookup"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class GeneratorSpec:
    """A custom watermark generator with state. It runs per split, before elements are keyed (time-rules 2.2)."""

    strategy: WatermarkStrategy
    kind: str = "generator"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class RelationalSpec:
    """An operator of a table. `spec` is one of runtime/relational/specs.

    meaning: what it computes, so that another query finds its state (runtime/relational/evolution/meaning.py).
    """

    spec: Any
    meaning: Any = None
    kind: str = "relational"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class MaterializeSpec:
    """Stores its input with the batch, so that a repeated batch processes the same elements (time-rules 8.3)."""

    kind: str = "materialize"
    keyed: bool = False
