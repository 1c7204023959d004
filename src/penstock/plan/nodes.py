"""What the user asked for, as frozen nodes. The fluent APIs write them; the level cutter, the engines and `explain` read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.plan.windows import WindowDescription
from penstock.time import WatermarkStrategy
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A step of the job. `inputs` are ids of other nodes; `uid` names its state in checkpoints."""

    id: int
    name: str
    uid: str
    inputs: tuple[int, ...] = ()
    parallelism: int | None = None
    line: str = ""  # where in the user's program it was made
    description: str = ""
    max_parallelism: int | None = None
    on_error: str = (
        "fail"  # or "dead_letter" (sources: or "skip"): what becomes of an element on which a function raises
    )
    output_type: TypeInformation | None = None  # of its elements, where it is known
    named: bool = False  # its uid was given, not made from its name and number
    checked: bool = False  # the type was declared here: elements are converted to it and checked as they leave the node


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNode(Node):
    """Where elements come from."""

    source: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkNode(Node):
    """Gives elements timestamps and a stream its watermarks."""

    strategy: WatermarkStrategy
    of_source: bool = False  # made together with the source before it, whose dead letters it hands out too


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformNode(Node):
    """A stateless function: kind is "map", "flat_map", "filter", "process" or "async"; two inputs call the co-functions."""

    kind: str
    function: Any
    settings: Any = None  # of asynchronous calls


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionNode(Node):
    """How elements are spread over subtasks.

    Kinds: "key", "rebalance", "shuffle", "rescale", "forward", "broadcast", "global", "custom", "split".
    """

    kind: str
    selector: Any = None
    partitioner: Any = None
    key_type: TypeInformation | None = None  # what keys are converted to and checked as, where it was declared


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorNode(Node):
    """Running logic of one subtask per slot: `spec` describes it, the engine makes it."""

    spec: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionNode(Node):
    """All inputs as one stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOutputNode(Node):
    """What a function yielded with a tag."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkNode(Node):
    """Where elements go."""

    sink: Any


# -- specifications of operators: what runs is made from them by `engine/operators.py`


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process function of one or two inputs."""

    function: Any
    keyed: bool
    two_inputs: bool = False
    kind: str = "process"


@dataclass(frozen=True, slots=True)
class BroadcastSpec:
    """A function beside a broadcast stream."""

    function: Any
    keyed: bool
    states: tuple[Any, ...]
    kind: str = "broadcast"


@dataclass(frozen=True, slots=True)
class ExchangeSpec:
    """Nothing but the move to other subtasks."""

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
    """Pairs of two keyed streams whose times lie so many milliseconds from each other."""

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
    """Windows over two keyed streams; `of` says what the function is given: "co_group", "join" or "flat_join"."""

    function: Any
    of: str
    assigner: Any
    trigger: Any = None  # None: the assigner's own
    evictor: Any = None
    allowed_lateness: int = 0  # milliseconds
    kind: str = "co_group"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """A pattern over the events of a key."""

    pattern: Any
    function: Any
    event_time: bool = True
    comparator: Any = None
    late_tag: Any = None
    keyed: bool = True
    kind: str = "cep"


@dataclass(frozen=True, slots=True)
class DynamicPatternSpec:
    """Patterns over the events of a key that come as a broadcast stream; `pattern_of` makes them of its elements."""

    pattern_of: Any
    function: Any
    event_time: bool = True
    comparator: Any = None
    late_tag: Any = None
    keyed: bool = True
    kind: str = "dynamic_cep"


@dataclass(frozen=True, slots=True)
class FactorySpec:
    """An operator made by a picklable factory: for operators that no fluent API has yet, and for tests."""

    factory: Any
    keyed: bool = True
    kind: str = "factory"


@dataclass(frozen=True, slots=True)
class CachedLookupSpec:
    """An asynchronous lookup by key whose answers are kept in state."""

    function: Any
    settings: Any
    ttl: int  # milliseconds
    output: Any  # of an element and its answer
    keeps_none: bool
    answer_type: TypeInformation | None = None  # None: answers are pickled
    kind: str = "cached_lookup"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class GeneratorSpec:
    """A custom watermark generator that keeps its state: it runs by split, before the keys are known (time.md 2.2)."""

    strategy: WatermarkStrategy
    kind: str = "generator"
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class MaterializeSpec:
    """Stores its input with the batch, so that a re-run of later stages reads the same elements (time.md 8.3)."""

    kind: str = "materialize"
    keyed: bool = False
