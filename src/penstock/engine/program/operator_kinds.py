"""The kinds of operators: a table from the kind of a specification to its factory, traits and loop.

A new kind of operator needs an entry here, and no change in the hosts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.engine.program.program import OperatorProgram, OperatorTraits
from penstock.errors import PlanError
from penstock.runtime.cep.dynamic import DynamicPatternOperator
from penstock.runtime.cep.loop import PatternLoop
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.columnar.factory import columnar_window_operator
from penstock.runtime.columnar.operator import ColumnarWindowOperator
from penstock.runtime.loop.operator import Emitted, Operator, OperatorContext
from penstock.runtime.loop.slot import SlotLoop
from penstock.runtime.operators.cached_lookup import CachedLookupOperator
from penstock.runtime.operators.co_group import CoGroupOperator
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.runtime.operators.process import BroadcastOperator, ProcessOperator
from penstock.runtime.relational.operators.factory import make_relational_operator
from penstock.runtime.relational.operators.operator import RelationalOperator
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.factory import window_operator

GENERATOR_STATE = "generator"  # name of the state that holds the watermark generator of a split


class ExchangeOperator:
    """Forwards its input."""

    keyed = False
    copies_results = True  # each element is forwarded once

    def open(self, context: OperatorContext) -> None:
        """Has nothing to open."""

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (_forward,)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return None

    def close(self) -> None:
        """Has nothing to close."""


class GeneratorOperator(ExchangeOperator):
    """Keeps the state of a watermark generator by split. The host runs the generator."""

    keyed = True


def _forward(value: Any, context: Any) -> Emitted:
    return (value,)


def _process(program: OperatorProgram, slot: int) -> Operator:
    return ProcessOperator(program.spec.function, program.spec.keyed, program.spec.two_inputs)


def _broadcast(program: OperatorProgram, slot: int) -> Operator:
    return BroadcastOperator(program.spec.function, program.spec.keyed, program.spec.states)


def _cached_lookup(program: OperatorProgram, slot: int) -> Operator:
    spec = program.spec
    return CachedLookupOperator(
        spec.function,
        spec.settings,
        spec.ttl,
        spec.output,
        caches_none=spec.caches_none,
        answer_type=spec.answer_type,
        fail_fast=not program.guarded,
    )


def _exchange(program: OperatorProgram, slot: int) -> Operator:
    return ExchangeOperator()


def _generator(program: OperatorProgram, slot: int) -> Operator:
    return GeneratorOperator()


def _interval_join(program: OperatorProgram, slot: int) -> Operator:
    spec = program.spec
    left, right = program.input_types
    return IntervalJoinOperator(
        spec.function,
        spec.lower,
        spec.upper,
        lower_inclusive=spec.lower_inclusive,
        upper_inclusive=spec.upper_inclusive,
        left_late_tag=spec.left_late_tag,
        right_late_tag=spec.right_late_tag,
        left_type=left,
        right_type=right,
    )


def _co_group(program: OperatorProgram, slot: int, batch_mode: bool = False) -> Operator:
    spec = program.spec
    return CoGroupOperator(
        spec.assigner,
        spec.function,
        spec.of,
        trigger=spec.trigger,
        evictor=spec.evictor,
        allowed_lateness=spec.allowed_lateness,
        types=program.input_types,
        batch_mode=batch_mode,
    )


def _co_group_in_batch_mode(program: OperatorProgram, slot: int) -> Operator:
    return _co_group(program, slot, batch_mode=True)


def _cep(program: OperatorProgram, slot: int) -> Operator:
    return PatternOperator(program.spec.pattern, program.spec.function, **_pattern_settings(program))


def _dynamic_cep(program: OperatorProgram, slot: int) -> Operator:
    return DynamicPatternOperator(program.spec.pattern_of, program.spec.function, **_pattern_settings(program))


def _pattern_settings(program: OperatorProgram) -> dict[str, Any]:
    spec = program.spec
    return {
        "event_time": spec.event_time,
        "comparator": spec.comparator,
        "late_tag": spec.late_tag,
        "element_type": program.input_types[0],
    }


def _factory(program: OperatorProgram, slot: int) -> Operator:
    operator: Operator = program.spec.factory()
    return operator


def _window(program: OperatorProgram, slot: int) -> Operator | ColumnarWindowOperator:
    aggregation = program.aggregation
    if aggregation is not None:
        return columnar_window_operator(aggregation.kind, aggregation.window)
    return window_operator(**_window_settings(program))


def _window_in_batch_mode(program: OperatorProgram, slot: int) -> Operator:
    return window_operator(**_window_settings(program), batch_mode=True)


def _window_settings(program: OperatorProgram) -> dict[str, Any]:
    """The settings of a window, with the type of its stored values.

    Windows store elements, unless they have an aggregate function and no evictor. Then they store accumulators.
    """
    window = program.spec.window
    settings = {field.name: getattr(window, field.name) for field in fields(window)}
    if window.aggregate is None or window.evictor is not None:
        settings["value_type"] = program.input_types[0]
    return settings


def _relational(program: OperatorProgram, slot: int) -> RelationalOperator:
    return make_relational_operator(program.spec.spec)


AnyOperator = Operator | ColumnarWindowOperator | RelationalOperator
Factory = Callable[[OperatorProgram, int], AnyOperator]


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """How the operators of one kind are created and run."""

    factory: Factory
    batch_factory: Factory | None = None  # in batch mode, where that is another one
    traits: OperatorTraits = field(default_factory=OperatorTraits)
    loop: Callable[[Any], type[SlotLoop]] | None = (
        None  # the streaming loop of a specification, where it is not SlotLoop
    )


def _pattern_loop(spec: Any) -> type[SlotLoop]:
    return PatternLoop if spec.event_time else SlotLoop


KINDS: dict[str, OperatorKind] = {
    "process": OperatorKind(_process),
    "broadcast": OperatorKind(_broadcast, traits=OperatorTraits(has_broadcast_state=True)),
    "cached_lookup": OperatorKind(_cached_lookup),
    "cep": OperatorKind(_cep, loop=_pattern_loop),
    "dynamic_cep": OperatorKind(_dynamic_cep, traits=OperatorTraits(has_broadcast_state=True), loop=_pattern_loop),
    "exchange": OperatorKind(_exchange),
    "materialize": OperatorKind(_exchange, traits=OperatorTraits(materializes=True)),
    "interval_join": OperatorKind(_interval_join),
    "co_group": OperatorKind(_co_group, _co_group_in_batch_mode),
    "factory": OperatorKind(_factory),
    "relational": OperatorKind(_relational),
    "generator": OperatorKind(_generator, traits=OperatorTraits(generates_watermarks=True)),
    "window": OperatorKind(_window, _window_in_batch_mode),
}


def operator_traits(kind: str) -> OperatorTraits:
    """The traits of a kind of operator. Unknown kinds fail when the operator is created."""
    return KINDS[kind].traits if kind in KINDS else OperatorTraits()


def streaming_loop(spec: Any) -> type[SlotLoop]:
    """The loop that runs an operator in streaming mode without dead letters."""
    choose = KINDS[spec.kind].loop
    return SlotLoop if choose is None else choose(spec)


def make_operator(program: OperatorProgram, slot: int, batch_mode: bool = False) -> AnyOperator:
    """Creates the operator of a program for one slot."""
    kind = KINDS.get(program.spec.kind)
    if kind is None:
        raise PlanError(
            "UNKNOWN_OPERATOR",
            f"Operator '{program.name}' has the unknown kind '{program.spec.kind}'. The known kinds are "
            f"{', '.join(sorted(KINDS))}.",
        )
    factory = kind.batch_factory if batch_mode and kind.batch_factory is not None else kind.factory
    return factory(program, slot)
