"""Makes running operators from their specifications: a table from kind to factory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from penstock.engine.program import OperatorProgram
from penstock.errors import PlanError
from penstock.runtime.cached_lookup import CachedLookupOperator
from penstock.runtime.cep.dynamic import DynamicPatternOperator
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.co_group import CoGroupOperator
from penstock.runtime.interval_join import IntervalJoinOperator
from penstock.runtime.operator import Emitted, Operator, OperatorContext
from penstock.runtime.process import BroadcastOperator, ProcessOperator
from penstock.runtime.timers import Timer
from penstock.runtime.vector.build import vector_windows
from penstock.runtime.vector.windows import VectorWindows
from penstock.runtime.window_build import window_operator


class ExchangeOperator:
    """Passes its input on."""

    keyed = False

    def open(self, context: OperatorContext) -> None:
        """Nothing to open."""

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (_one,)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return None

    def close(self) -> None:
        """Nothing to close."""


class GeneratorOperator(ExchangeOperator):
    """Holds a watermark generator's state by split; the host runs the generator itself."""

    keyed = True


def _one(value: Any, context: Any) -> Emitted:
    return (value,)


def _process(program: OperatorProgram, slot: int) -> Operator:
    return ProcessOperator(program.spec.function, program.spec.keyed, program.spec.two_inputs)


def _broadcast(program: OperatorProgram, slot: int) -> Operator:
    # Key group 0 lives in slot 0: that slot keeps what the broadcast side emits.
    return BroadcastOperator(program.spec.function, program.spec.keyed, program.spec.states, keeps_output=slot == 0)


def _cached_lookup(program: OperatorProgram, slot: int) -> Operator:
    spec = program.spec
    return CachedLookupOperator(
        spec.function,
        spec.settings,
        spec.ttl,
        spec.output,
        keeps_none=spec.keeps_none,
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
    return PatternOperator(program.spec.pattern, program.spec.function, **_of_patterns(program))


def _dynamic_cep(program: OperatorProgram, slot: int) -> Operator:
    return DynamicPatternOperator(program.spec.pattern_of, program.spec.function, **_of_patterns(program))


def _of_patterns(program: OperatorProgram) -> dict[str, Any]:
    spec = program.spec
    return {
        "event_time": spec.event_time,
        "comparator": spec.comparator,
        "late_tag": spec.late_tag,
        "element_type": program.input_types[0],
    }


def _factory(program: OperatorProgram, slot: int) -> Operator:
    made: Operator = program.spec.factory()
    return made


def _window(program: OperatorProgram, slot: int) -> Operator | VectorWindows:
    how = program.aggregation
    if how is not None:
        return vector_windows(how.kind, how.window)
    return window_operator(**_settings(program))


def _window_in_batch_mode(program: OperatorProgram, slot: int) -> Operator:
    return window_operator(**_settings(program), batch_mode=True)


def _settings(program: OperatorProgram) -> dict[str, Any]:
    """What was set, and the type of what is kept: elements (an evictor wants all of them), one element, or an accumulator."""
    window = program.spec.window
    settings = {field.name: getattr(window, field.name) for field in fields(window)}
    if window.aggregate is None or window.evictor is not None:
        settings["value_type"] = program.input_types[0]
    return settings


FACTORIES: dict[str, Callable[[OperatorProgram, int], Operator | VectorWindows]] = {
    "process": _process,
    "broadcast": _broadcast,
    "cached_lookup": _cached_lookup,
    "cep": _cep,
    "dynamic_cep": _dynamic_cep,
    "exchange": _exchange,
    "materialize": _exchange,
    "interval_join": _interval_join,
    "co_group": _co_group,
    "factory": _factory,
    "generator": _generator,
    "window": _window,
}
IN_BATCH_MODE = FACTORIES | {"window": _window_in_batch_mode, "co_group": _co_group_in_batch_mode}


def make_operator(program: OperatorProgram, slot: int, batch_mode: bool = False) -> Operator | VectorWindows:
    """The running operator of a slot."""
    factory = (IN_BATCH_MODE if batch_mode else FACTORIES).get(program.spec.kind)
    if factory is None:
        raise PlanError(
            "UNKNOWN_OPERATOR", f"Operator '{program.name}' is of kind '{program.spec.kind}', which nothing runs."
        )
    return factory(program, slot)
