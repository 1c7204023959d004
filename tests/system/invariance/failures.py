"""A failed call leaves nothing but a dead letter, so a program without the failing elements emits the same otherwise."""

from __future__ import annotations

from msgspec.structs import replace

from tests.system.invariance.program import (
    Async,
    Broadcast,
    Connect,
    CoProcess,
    Filter,
    KeyedCoMap,
    KeyedMap,
    Map,
    Match,
    Partition,
    Process,
    Program,
    Stage,
)

_FAIL_BY_ELEMENT = (Map, Async, Partition, CoProcess, KeyedMap, KeyedCoMap, Connect, Broadcast)


def without_failures(program: Program) -> tuple[Program, dict[str, str]]:
    """Returns a program that removes failing elements before each function, and the new names of the stages."""
    sources = len(program.sources)
    streams = list(range(sources))  # the new number of each stream
    stages: list[Stage] = []
    names: dict[str, str] = {}
    for number, stage in enumerate(program.stages):
        inputs = [streams[i] for i in stage.inputs]
        operation = stage.operation
        if fails_by_element(program, stage):
            removes = Filter(0, True, operation.fails)  # type: ignore[union-attr]
            filters = [Stage(removes, (i,)) for i in inputs]
            inputs = [sources + len(stages) + n for n in range(len(filters))]
            stages += filters
            operation = replace(operation, fails=0)
        names[f"stage{number}"] = f"stage{len(stages)}"
        streams.append(sources + len(stages))
        stages.append(Stage(operation, tuple(inputs)))
    return replace(program, stages=tuple(stages)), names


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
    return isinstance(operation, _FAIL_BY_ELEMENT) and operation.fails > 0
