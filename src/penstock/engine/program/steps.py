"""The steps of chains: stateless functions, watermarks, type checks, shuffles and sinks after a source or an operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.time import WatermarkStrategy
from penstock.types import TypeInformation


@dataclass(slots=True)
class TransformStep:
    """A stateless user function."""

    uid: str
    name: str
    kind: str
    function: Any
    input: int
    guarded: bool = False  # elements on which the function raises become dead letters
    declared: DeclaredOutput | None = None  # of a guarded step: the type that each call is checked against
    settings: Any = None  # of asynchronous calls
    next: list[Step] = field(default_factory=list)
    side: dict[str, list[Step]] = field(default_factory=dict)


@dataclass(slots=True)
class WatermarkStep:
    """Assigns timestamps and watermarks. After it, elements belong to another watermark stream."""

    uid: str
    name: str
    stream: int
    strategy: WatermarkStrategy
    guarded: bool = False
    next: list[Step] = field(default_factory=list)
    side: dict[str, list[Step]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeclaredOutput:
    """The declared output type of an operator, and the line of the program that declares it."""

    name: str
    line: str
    type_info: TypeInformation


@dataclass(slots=True)
class CheckStep:
    """Converts elements to the declared type and checks them."""

    declared: DeclaredOutput
    next: list[Step] = field(default_factory=list)


@dataclass(slots=True)
class ElementType:
    """The known type of the elements that leave a chain; `certain` if they were checked."""

    type_info: TypeInformation
    certain: bool


@dataclass(slots=True)
class ColumnRequest:
    """What an operator that processes columns needs from the chains before it."""

    aggregate: Any
    assigner: Any
    combined: bool
    on_grid: bool
    values: bool  # also send the elements themselves
    name: str  # of the operator, for error messages
    uid: str


@dataclass(slots=True)
class SendStep:
    """Sends elements to an operator of a higher level."""

    uid: str
    name: str
    level: int
    operator: int
    input: int
    stream: int  # watermark stream of the elements, -1 after an operator
    partition: str
    selector: Any
    partitioner: Any
    key_type: TypeInformation | None
    parallelism: int
    guarded: bool = False
    reports_dead_letters: bool = True  # False for all but one step of a partitioning
    branch: int = 0  # number of this path to the operator; orders elements of the same position
    side: dict[str, list[Step]] = field(default_factory=dict)
    element_type: ElementType | None = None
    columns: ColumnRequest | None = None  # of an operator that processes columns


@dataclass(slots=True)
class SinkStep:
    """Sends elements to a sink. If there is a `function`, the chain calls it and only sends the counts."""

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
    """Iterates over every step of a chain, including side outputs."""
    for step in steps:
        yield step
        if isinstance(step, (TransformStep, WatermarkStep, CheckStep)):
            yield from all_steps(step.next)
        if not isinstance(step, CheckStep):
            for readers in step.side.values():
                yield from all_steps(readers)


def downstream_steps(step: Step) -> list[Step]:
    """The steps that read the main output of a step."""
    return step.next if isinstance(step, (TransformStep, WatermarkStep, CheckStep)) else []


def side_output_steps(step: Step) -> dict[str, list[Step]]:
    """The steps that read the side outputs of a step, by tag."""
    return {} if isinstance(step, CheckStep) else step.side


def steps_that_copy(steps: Sequence[Step]) -> set[int]:
    """The ids of steps that copy their input, because they may change elements that other steps read later, or still have to send.

    `steps` read the same elements. All branches but the last one copy, and the last one if an earlier branch holds elements.
    """
    copying: set[int] = set()
    held = False
    for number, step in enumerate(steps):
        if (number < len(steps) - 1 or held) and any(map(_may_change_elements, all_steps([step]))):
            copying.add(id(step))
        held = held or any(isinstance(s, SendStep) and s.columns is not None for s in all_steps([step]))
        for readers in (downstream_steps(step), *side_output_steps(step).values()):
            copying |= steps_that_copy(readers)
    return copying


def _may_change_elements(step: Step) -> bool:
    """Whether the function of a step gets elements and may change them. Filters, selectors and assigners must not change them."""
    if isinstance(step, TransformStep):
        return step.kind not in ("filter", "columns")
    return isinstance(step, SinkStep) and step.function is not None


def has_async_step(*steps: Step) -> bool:
    """Whether some steps, or those after them, contain an asynchronous step."""
    return any(isinstance(step, TransformStep) and step.kind == "async" for step in all_steps(list(steps)))


def needs_tags(steps: list[Step]) -> bool:
    """Whether a chain uses the tags or timestamps of its elements."""
    return any(
        isinstance(step, (SendStep, WatermarkStep))
        or (isinstance(step, SinkStep) and (step.wants_tags or step.wants_timestamps or step.function is not None))
        or (isinstance(step, TransformStep) and (step.kind == "process" or step.guarded))
        for step in all_steps(steps)
    )
