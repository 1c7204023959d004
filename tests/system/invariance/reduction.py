"""Makes a failing example smaller: removes items, stages, runs, cuts, states and timers while it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from tests.system.invariance.program import Example, Program, Stage
from tests.system.invariance.properties import clock_cuts

Fails = Callable[[Example], bool]


def reduce_example(example: Example, fails: Fails) -> Example:
    """Returns a smaller example for which `fails` is true."""
    progress = True
    while progress:
        progress = False
        for smaller in _candidates(example):
            if len(repr(smaller)) < len(repr(example)) and fails(smaller):
                example, progress = smaller, True
                break
    return example


def _candidates(example: Example) -> Iterator[Example]:
    yield from _with_fewer_runs(example)
    for stages in _with_fewer_stages(example.program):
        yield _fitting(replace(example, program=replace(example.program, stages=stages)))
    for size in (8, 4, 2, 1):
        for start in range(0, len(example.items), size):
            yield _without_items(example, start, min(start + size, len(example.items)))
    yield from _with_simpler_runs(example)
    for number, stage in enumerate(example.program.stages):
        for operation in _simpler(stage.operation):
            stages = _replaced(example.program.stages, number, replace(stage, operation=operation))
            yield _fitting(replace(example, program=replace(example.program, stages=stages)))


def _replaced(values: tuple[Any, ...], number: int, value: Any) -> tuple[Any, ...]:
    return (*values[:number], value, *values[number + 1 :])


def _with_fewer_runs(example: Example) -> Iterator[Example]:
    if len(example.runs) > 2:
        for number in range(len(example.runs)):
            yield replace(example, runs=(*example.runs[:number], *example.runs[number + 1 :]))


def _with_fewer_stages(program: Program) -> Iterator[tuple[Stage, ...]]:
    """Removes a stage; stages that read it read its first input instead."""
    sources = len(program.sources)
    for number in range(len(program.stages) - 1, -1, -1):
        if len(program.stages) == 1:
            return
        gone, instead = number + sources, program.stages[number].inputs[0]
        yield tuple(
            replace(stage, inputs=tuple(instead if i == gone else i - (i > gone) for i in stage.inputs))
            for stage in program.stages
            if stage is not program.stages[number]
        )


def _without_items(example: Example, start: int, end: int) -> Example:
    removed = end - start
    runs = [
        replace(run, cuts=tuple(sorted({c if c <= start else max(start, c - removed) for c in run.cuts} - {0})))
        for run in example.runs
    ]
    return _fitting(replace(example, items=(*example.items[:start], *example.items[end:]), runs=tuple(runs)))


def _with_simpler_runs(example: Example) -> Iterator[Example]:
    for number, run in enumerate(example.runs):
        simpler = [replace(run, cuts=(*run.cuts[:n], *run.cuts[n + 1 :])) for n in range(len(run.cuts))]
        simpler += [
            replace(run, restores=()),
            replace(run, rescales=()),
            replace(run, crashes=()),
            replace(run, cached=False),
        ]
        simpler += [replace(run, parallelism=1), replace(run, seed=0), replace(run, ends_with_input=False)]
        for candidate in simpler:
            yield _fitting(replace(example, runs=_replaced(example.runs, number, candidate)))


def _simpler(operation: Any) -> Iterator[Any]:
    defaults = type(operation).__struct_defaults__
    names = type(operation).__struct_fields__[-len(defaults) :] if defaults else ()
    for name, default in zip(names, defaults, strict=True):
        value = getattr(operation, name)
        if isinstance(value, tuple):
            for number in range(len(value)):
                yield replace(operation, **{name: (*value[:number], *value[number + 1 :])})
        elif value != default:
            yield replace(operation, **{name: default})


def _fitting(example: Example) -> Example:
    """Adds the cuts that processing time needs and removes those that are not possible."""
    needed, size = clock_cuts(example.program, example.items), len(example.items)
    runs = []
    for run in example.runs:
        cuts = tuple(sorted(c for c in {*run.cuts, *needed} if 0 < c < size))
        fewer = [rescale for rescale in run.rescales if rescale.batch <= len(cuts)]
        runs.append(replace(run, cuts=cuts, rescales=tuple(fewer)))
    return replace(example, runs=tuple(runs))
