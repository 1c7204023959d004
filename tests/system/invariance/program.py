"""Descriptions of programs, inputs and runs: plain data that prints as Python and is stored as JSON.

A program is a list of stages. Streams are numbered: the sources first, then the result of each stage. Elements are tuples of a key,
a number and a text. The text contains what the function of the last stage observed.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from penstock.connectors import At, Mark

KeyBy = Literal["key", "number", "pair"]  # the key of the element, its number modulo 2, or a tuple of both
Times = Literal["event", "processing"]


class Part(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, repr_omit_defaults=True):
    """Base class of all descriptions."""


# -- sources


class Monotonous(Part, frozen=True):
    """Timestamps ascend, the watermark follows the highest one."""


class Bounded(Part, frozen=True):
    """The watermark is behind the highest timestamp."""

    delay: int


class Explicit(Part, frozen=True):
    """The only watermarks are those in the input."""


class Punctuated(Part, frozen=True):
    """A custom generator emits a watermark with each third number."""


class Ingestion(Part, frozen=True):
    """Timestamps are the processing time of the batch."""


Watermarks = Monotonous | Bounded | Explicit | Punctuated | Ingestion


class SourceSpec(Part, frozen=True):
    """A source with its splits, which are known from the start. Its records are pushed, or read from files or splits (reading.py).

    Either all sources of a program are pushed or none.
    """

    splits: tuple[str, ...] = ("s0",)
    watermarks: Watermarks = Monotonous()
    idle: int = 0  # idle timeout in milliseconds; 0: none
    reads: Literal["pushed", "files", "files in order", "splits"] = "pushed"
    drift: int = 0  # of watermark alignment between all sources; 0: none
    later: int = (
        0  # the number of files at the end that follow those before them in time, and may be found later (`Run.found`)
    )

    def age(self, file: int) -> int:
        """Returns 0 for a file that is there from the start, 1 for the first one that may be found later, and so on."""
        return max(0, file + 1 - len(self.splits) + self.later)


# -- state and timers


class StateSpec(Part, frozen=True):
    """A keyed state. `payload` names the type of its values (payloads.py)."""

    kind: Literal["value", "list", "map", "reducing", "aggregating"]
    payload: str = "int"
    declared: bool = True
    ttl: int = 0  # milliseconds; 0: none
    ttl_on_read: bool = False


class TimerSpec(Part, frozen=True):
    """Registers a timer for each element. Timers before `until` register the next one."""

    domain: Times
    after: int
    until: int = 0
    delete: bool = False  # every third element deletes the timer instead


# -- windows


class Tumbling(Part, frozen=True):
    size: int
    offset: int = 0
    time: Times = "event"


class Sliding(Part, frozen=True):
    size: int
    slide: int
    time: Times = "event"


class Session(Part, frozen=True):
    gap: int
    time: Times = "event"
    dynamic: bool = False  # the gap grows with the number of the element


class Counted(Part, frozen=True):
    size: int
    slide: int = 0


class Global(Part, frozen=True):
    """One window per key. It needs a trigger."""


Assigner = Tumbling | Sliding | Session | Counted | Global


class TriggerSpec(Part, frozen=True):
    """A trigger other than the default one. `length` is a count, a threshold or an interval."""

    kind: Literal[
        "event", "processing", "count", "delta", "continuous event", "continuous processing", "early", "timeout", "end"
    ]
    length: int = 1
    purging: bool = False


class EvictorSpec(Part, frozen=True):
    kind: Literal["count", "time", "delta"]
    length: int
    after: bool = False


# -- stages


class Map(Part, frozen=True):
    """Adds to the number. Fails for multiples of `fails`, which become dead letters."""

    add: int = 1
    fails: int = 0
    typed: bool = False  # the type of its results is declared


class Filter(Part, frozen=True):
    """Keeps elements whose number has the given remainder, or another one if it is inverted."""

    remainder: int = 0
    inverted: bool = False
    modulo: int = 3


class FlatMap(Part, frozen=True):
    """Emits each element as often as its number modulo 3."""


class Async(Part, frozen=True):
    """An asynchronous function whose later calls finish first."""

    ordered: bool = True
    fails: int = 0
    retries: int = 0  # a call fails or has no result as often as the number of the element modulo 3
    retries_results: bool = False  # a call that fails is one without a result


class Separate(Part, frozen=True):
    """A function without a key that sends odd numbers to the side output "side"."""


class Side(Part, frozen=True):
    """A side output of the stage: "side", "late", "timeout", "left", "right"."""

    tag: str


class Partition(Part, frozen=True):
    kind: Literal["rebalance", "rescale", "shuffle", "global_", "materialize", "custom"]
    fails: int = 0  # of the key selector, for "custom"


class Assign(Part, frozen=True):
    """Assigns new watermarks in the middle of the program."""

    delay: int


class Union(Part, frozen=True):
    """The union of its inputs."""


class Process(Part, frozen=True):
    """A keyed process function that shows its states before and after it changes them, and its timers."""

    by: KeyBy = "key"
    states: tuple[StateSpec, ...] = ()
    timers: tuple[TimerSpec, ...] = ()
    fails: int = 0
    side: bool = False
    typed_key: bool = False


class Reduce(Part, frozen=True):
    by: KeyBy = "key"
    how: Literal["reduce", "sum", "min", "max", "min_by", "max_by"] = "reduce"


class Buffer(Part, frozen=True):
    """Collects elements in a state and emits them by time when a timer fires, whatever their order of arrival was."""

    by: KeyBy = "key"
    kind: Literal["list", "map"] = "list"
    every: int = 80


class Window(Part, frozen=True):
    assigner: Assigner
    by: KeyBy | None = "key"  # None: all elements
    trigger: TriggerSpec | None = None
    evictor: EvictorSpec | None = None
    lateness: int = 0
    late_output: bool = False
    function: Literal["reduce", "aggregate", "process", "apply", "named", "sum"] = "process"
    states: tuple[StateSpec, ...] = ()  # global state of the key, for "process"
    fails: int = 0
    window_state: bool = False  # counts the firings of each window
    skips: bool = False  # emits nothing instead of failing


class Connect(Part, frozen=True):
    """A keyed function with two inputs, states and timers."""

    by: KeyBy = "key"
    states: tuple[StateSpec, ...] = ()
    timers: tuple[TimerSpec, ...] = ()
    fails: int = 0


class CoMap(Part, frozen=True):
    """A function with two inputs and without a key."""

    flat: bool = False


class CoProcess(Part, frozen=True):
    """A process function with two inputs and without a key."""

    side: bool = False
    fails: int = 0


class KeyedMap(Part, frozen=True):
    """A function of one element, with keyed states."""

    how: Literal["map", "flat_map", "filter"] = "map"
    by: KeyBy = "key"
    states: tuple[StateSpec, ...] = ()
    fails: int = 0


class KeyedCoMap(Part, frozen=True):
    """A function of one element of two inputs, with keyed states."""

    flat: bool = False
    by: KeyBy = "key"
    states: tuple[StateSpec, ...] = ()
    fails: int = 0


class IntervalJoin(Part, frozen=True):
    lower: int
    upper: int
    by: KeyBy = "key"
    exclusive: bool = False
    late_output: bool = False
    fails: int = 0


class WindowJoin(Part, frozen=True):
    assigner: Assigner
    by: KeyBy = "key"
    lateness: int = 0
    flat: bool = False  # emits a pair twice if its difference is even, else not at all


class CoGroup(Part, frozen=True):
    assigner: Assigner
    by: KeyBy = "key"
    trigger: TriggerSpec | None = None
    evictor: EvictorSpec | None = None
    lateness: int = 0
    fails: int = 0


class Broadcast(Part, frozen=True):
    """The second input is broadcast. `by`: the key of the first one."""

    by: KeyBy | None = "key"
    payload: str = "int"
    declared: bool = True
    states: tuple[StateSpec, ...] = ()
    timers: tuple[TimerSpec, ...] = ()
    apply: bool = False  # every third broadcast element changes the state of all keys
    fails: int = 0


class PatternStep(Part, frozen=True):
    """A step that matches numbers with a remainder modulo 3, or larger numbers than in the first step."""

    strategy: Literal["next", "followed_by", "followed_by_any", "not_next", "not_followed_by"] = "followed_by"
    remainder: int | None = 0  # None: larger than the last number of the first step
    quantifier: Literal[
        "one",
        "optional",
        "one_or_more",
        "times",
        "times from to",
        "greedy",
        "greedy times",
        "consecutive",
        "combinations",
        "times_or_more",
        "any number",
    ] = "one"
    until: int | None = None  # the remainder modulo 3 that ends a loop
    within: int = 0  # time since the previous event
    either: bool = False  # also matches multiples of 7


class Match(Part, frozen=True):
    """A pattern."""

    steps: tuple[PatternStep, ...]
    by: KeyBy | None = "key"
    within: int = 0
    skip: Literal["no_skip", "skip_to_next", "skip_past_last_event", "skip_to_first", "skip_to_last"] = "no_skip"
    skip_to: int = 0  # the number of the step
    group: Literal["none", "times", "optional", "one_or_more"] = "none"  # of all steps but the first
    time: Times = "event"
    late_output: bool = False
    timeouts: bool = False
    fails: int = 0
    condition_fails: bool = False  # the condition of the first step fails instead of the function


Operation = (
    Map
    | Filter
    | FlatMap
    | Async
    | Separate
    | Side
    | Partition
    | Assign
    | Union
    | Process
    | Reduce
    | Buffer
    | Window
    | Connect
    | CoMap
    | CoProcess
    | KeyedMap
    | KeyedCoMap
    | IntervalJoin
    | WindowJoin
    | CoGroup
    | Broadcast
    | Match
)


class Stage(Part, frozen=True):
    """An operation and the numbers of its input streams."""

    operation: Operation
    inputs: tuple[int, ...] = (0,)


class Program(Part, frozen=True):
    """A program, and which results of it must be equal.

    "sequences": all runs emit the same sequence per key and output. "multisets": all runs emit the same elements; no function shows
    their order or the watermark. "batches": only runs with the same batches are equal.
    """

    sources: tuple[SourceSpec, ...]
    stages: tuple[Stage, ...]
    promise: Literal["sequences", "multisets", "batches"] = "sequences"
    changes: bool = False  # functions change elements after they have received or emitted them (changes.py)

    @property
    def ordered(self) -> bool:
        return self.promise != "multisets"

    @property
    def later(self) -> int:
        """How many files may be found later."""
        return max(source.later for source in self.sources)

    @property
    def reads(self) -> bool:
        """Whether the sources are read. Then they determine the batches."""
        return self.sources[0].reads != "pushed"


# -- input


class Item(Part, frozen=True):
    """An element, a watermark (without a key) or the end of a split (without both)."""

    key: str | None
    number: int = 0
    timestamp: int | None = None  # of the element, or the watermark
    split: str = "s0"
    source: int = 0
    clock: int = 0  # the processing time at which it is read

    def scripted(self, changes: bool) -> Any:
        """The input of a source: the element as a tuple, or as a list if functions change it, or a watermark."""
        if self.key is None:
            return Mark(self.timestamp or 0)
        element = self.element(changes)
        return element if self.timestamp is None else At(element, self.timestamp)

    def element(self, changes: bool) -> Any:
        return [self.key, self.number, ""] if changes else (self.key, self.number, "")


# -- runs


class Rescale(Part, frozen=True):
    """A savepoint before a batch, restored with another parallelism."""

    batch: int
    parallelism: int


class Run(Part, frozen=True):
    """How the input is cut into batches, and what happens between them."""

    cuts: tuple[int, ...] = ()  # the first item of each batch but the first
    restores: tuple[int, ...] = ()  # batches before which the job is restored from a checkpoint
    rescales: tuple[Rescale, ...] = ()
    crashes: tuple[int, ...] = ()  # batches that fail after their first slot has written, and run again
    parallelism: int = 1
    seed: int = 0
    cached: bool = False  # the state backend "hashmap"
    found: tuple[
        int, ...
    ] = ()  # the batches before which the later files appear; empty: all files are there from the start
    per_batch: int = 0  # records that a batch reads of a file or split, if the program reads its sources; 0: all
    ends_with_input: bool = False  # the end of the input is in the last batch, and not in one of its own


class Example(Part, frozen=True):
    """A program, its input, and runs of it that are compared."""

    program: Program
    items: tuple[Item, ...]
    runs: tuple[Run, ...]

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode()

    @staticmethod
    def from_json(text: str | bytes) -> Example:
        return msgspec.json.decode(text, type=Example)
