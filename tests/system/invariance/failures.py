"""A failed call leaves nothing but a dead letter, so a program without failures emits the same otherwise."""

from __future__ import annotations

from msgspec.structs import replace

from tests.system.invariance.program import (
    Async,
    Broadcast,
    Connect,
    CoProcess,
    Counted,
    Filter,
    KeyedCoMap,
    KeyedMap,
    Map,
    Match,
    Operation,
    Partition,
    Process,
    Program,
    Stage,
    Window,
)

_FAIL_BY_ELEMENT = (Map, Async, Partition, CoProcess, KeyedMap, KeyedCoMap, Connect, Broadcast)


def without_failures(program: Program) -> tuple[Program, dict[str, str]]:
    """Returns a program that emits the same without failures, and the new names of its stages.

    It removes elements before the functions that would fail. Windows whose function would fail emit nothing.
    """
    sources = len(program.sources)
    streams = list(range(sources))  # the new number of each stream
    stages: list[Stage] = []
    names: dict[str, str] = {}
    for number, stage in enumerate(program.stages):
        inputs = [streams[i] for i in stage.inputs]
        operation = stage.operation
        if fails_by_timer(operation):
            operation = replace(operation, skips=True)
        elif fails_by_element(program, stage):
            removes = Filter(0, True, operation.fails)  # type: ignore[union-attr]
            filters = [Stage(removes, (i,)) for i in inputs]
            inputs = [sources + len(stages) + n for n in range(len(filters))]
            stages += filters
            operation = replace(operation, fails=0)
        names[f"stage{number}"] = f"stage{len(stages)}"
        streams.append(sources + len(stages))
        stages.append(Stage(operation, tuple(inputs)))
    return replace(program, stages=tuple(stages)), names


def can_avoid_failures(program: Program) -> bool:
    """Returns whether a program has failures that `without_failures` avoids."""
    return any(fails_by_element(program, stage) or fails_by_timer(stage.operation) for stage in program.stages)


def fails_by_timer(operation: Operation) -> bool:
    """Returns whether a function fails only when timers fire, and has no effect if it does not fail."""
    return (
        isinstance(operation, Window)
        and operation.fails > 0
        and not isinstance(operation.assigner, Counted)
        and not (operation.lateness or operation.evictor)
        and (operation.trigger is None or (operation.trigger.kind in _TIMED and not operation.trigger.purging))
    )


_TIMED = ("event", "continuous event", "continuous processing", "early")


def fails_by_element(program: Program, stage: Stage) -> bool:
    """Returns whether the number of an element decides if a call fails.

    Two inputs must be different sources. Otherwise, the order of both results of one record depends on the operators before them.
    """
    operation, inputs = stage.operation, stage.inputs
    if len(inputs) > 1 and (inputs[0] == inputs[1] or max(inputs) >= len(program.sources)):
        return False
    match operation:
        case Match():
            return operation.condition_fails
        case Process():
            return operation.fails > 0 and not operation.timers
        case Async() if operation.retries == 1 and not operation.retries_results:
            return False  # some elements fail because one retry is not enough
    return isinstance(operation, _FAIL_BY_ELEMENT) and operation.fails > 0
