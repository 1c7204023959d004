"""Chains of stateless steps, as data: what hangs on a source or an operator until elements move or leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.time import WatermarkStrategy
from penstock.types import TypeInformation


@dataclass(slots=True)
class TransformStep:
    """A stateless function of the user's."""

    uid: str
    name: str
    kind: str
    function: Any
    input: int
    guarded: bool = False  # elements on which the function raises become dead letters
    declared: Declared | None = None  # of a guarded step: what it emits, checked call by call
    settings: Any = None  # of asynchronous calls
    next: list[Step] = field(default_factory=list)
    side: dict[str, list[Step]] = field(default_factory=dict)


@dataclass(slots=True)
class WatermarkStep:
    """Timestamps and watermarks; from here on elements belong to another stream of marks."""

    uid: str
    name: str
    stream: int
    strategy: WatermarkStrategy
    guarded: bool = False
    next: list[Step] = field(default_factory=list)
    side: dict[str, list[Step]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declared:
    """The type that an operator was declared to give, and where."""

    name: str
    line: str
    type_info: TypeInformation


@dataclass(slots=True)
class CheckStep:
    """Elements as what their operator declared them to be."""

    declared: Declared
    next: list[Step] = field(default_factory=list)


@dataclass(slots=True)
class ElementType:
    """What is known of the elements that leave a chain; `certain` when they were just checked."""

    type_info: TypeInformation
    certain: bool


@dataclass(slots=True)
class ColumnsWanted:
    """What an operator by columns wants to be sent."""

    aggregate: Any
    assigner: Any
    combined: bool
    on_grid: bool
    values: bool  # the elements themselves too
    name: str  # of the operator, for errors of its fields
    uid: str


@dataclass(slots=True)
class SendStep:
    """The move to an operator of a higher level."""

    uid: str
    name: str
    level: int
    operator: int
    input: int
    stream: int  # -1 behind an operator
    partition: str
    selector: Any
    partitioner: Any
    key_type: TypeInformation | None
    parallelism: int
    guarded: bool = False
    tells: bool = True  # of several ways from one partitioning one tells of its dead letters
    branch: int = 0  # number among the ways to the operator: elements that stand at one place come branch by branch
    side: dict[str, list[Step]] = field(default_factory=dict)
    element_type: ElementType | None = None
    columns: ColumnsWanted | None = None  # by an operator that works by columns


@dataclass(slots=True)
class SinkStep:
    """The way to a sink. A `function` is called here with each element, which goes no further."""

    uid: str
    name: str
    sink: int
    wants_tags: bool
    wants_timestamps: bool
    wants_values: bool
    branch: int = 0
    element_type: ElementType | None = None
    function: Any = None
    side: dict[str, list[Step]] = field(default_factory=dict)


Step = TransformStep | WatermarkStep | CheckStep | SendStep | SinkStep


def all_steps(steps: list[Step]) -> Iterator[Step]:
    """Every step of a chain."""
    for step in steps:
        yield step
        if isinstance(step, (TransformStep, WatermarkStep, CheckStep)):
            yield from all_steps(step.next)
        if not isinstance(step, CheckStep):
            for behind in step.side.values():
                yield from all_steps(behind)


def steps_behind(step: Step) -> list[Step]:
    """The steps that read a step's main output."""
    return step.next if isinstance(step, (TransformStep, WatermarkStep, CheckStep)) else []


def steps_beside(step: Step) -> dict[str, list[Step]]:
    """The steps that read a step's side outputs, by tag."""
    return {} if isinstance(step, CheckStep) else step.side


def awaits(*steps: Step) -> bool:
    """Whether there is an asynchronous step among some steps and those behind them."""
    return any(isinstance(step, TransformStep) and step.kind == "async" for step in all_steps(list(steps)))


def needs_origins(steps: list[Step]) -> bool:
    """Whether anything in a chain asks where an element came from: its timestamp, or its place in the order."""
    return any(
        isinstance(step, (SendStep, WatermarkStep))
        or (isinstance(step, SinkStep) and (step.wants_tags or step.wants_timestamps or step.function is not None))
        or (isinstance(step, TransformStep) and (step.kind == "process" or step.guarded))
        for step in all_steps(steps)
    )
