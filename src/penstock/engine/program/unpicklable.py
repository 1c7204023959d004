"""Finds the function, and the variable in it, that prevents a program from being pickled."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from penstock.engine.program.program import Program
from penstock.engine.program.steps import CheckStep, SendStep, Step, TransformStep, WatermarkStep, all_steps
from penstock.errors import PlanError
from penstock.runtime.failure import definition_location, short_repr

_MAX_DEPTH = 6
Dumps = Callable[[Any], object]


def unpicklable_error(program: Program, error: Exception, dumps: Dumps) -> PlanError:
    """The error to raise for a program that cannot be pickled."""
    for owner, thing in _user_objects(program):
        if _pickle_error(thing, dumps) is None:
            continue
        path, culprit = _culprit(thing, dumps, [])
        uses = f" {' '.join(path)}, {_type_name(culprit)}" if path else f" is {_type_name(culprit)}"
        return PlanError(
            "UNPICKLABLE",
            f"{_describe(thing)} of {owner}{uses}, which cannot be sent to other processes ({_pickle_error(culprit, dumps)}). "
            "Create it where it is used, in open() of a function class or inside the function.",
        )
    return PlanError(
        "UNPICKLABLE",
        f"The program cannot be sent to other processes: {error}. Create locks, connections and open files inside functions, "
        "for example in open().",
    )


def _user_objects(program: Program) -> Iterator[tuple[str, Any]]:
    """All objects of the user in a program, each with the description of its owner."""
    for source in program.sources:
        yield f"source '{source.name}'", source.source
        yield from _objects_of_steps(source.chain)
    for operator in program.operators:
        owner = f"operator '{operator.name}'"
        yield from (
            (owner, thing)
            for name in ("function", "factory", "strategy", "output")
            if (thing := getattr(operator.spec, name, None))
        )
        for steps in (operator.chain, *operator.side_chains.values()):
            yield from _objects_of_steps(steps)
    yield from ((f"sink '{name}'", sink) for name, sink in zip(program.sink_names, program.sinks, strict=True))


def _objects_of_steps(steps: list[Step]) -> Iterator[tuple[str, Any]]:
    for step in all_steps(steps):
        if isinstance(step, CheckStep):
            continue
        owner = f"operator '{step.name}'"
        if isinstance(step, TransformStep):
            yield owner, step.function
        elif isinstance(step, SendStep):
            yield from ((owner, thing) for thing in (step.selector, step.partitioner) if thing is not None)
        elif isinstance(step, WatermarkStep):
            yield owner, step.strategy


def _pickle_error(thing: Any, dumps: Dumps) -> Exception | None:
    try:
        dumps(thing)
    except Exception as error:
        return error
    return None


def _culprit(thing: Any, dumps: Dumps, path: list[str]) -> tuple[list[str], Any]:
    """The innermost part that cannot be pickled, and the description of the path to it."""
    if len(path) < _MAX_DEPTH:
        for description, part in _parts(thing):
            if part is not thing and _pickle_error(part, dumps) is not None:
                return _culprit(part, dumps, [*path, description])
    return path, thing


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """The objects that are pickled together with an object, each described by its name in the program."""
    if isinstance(thing, types.MethodType):
        yield from _parts(thing.__func__)
        yield f"belongs to {_type_name(thing.__self__)}", thing.__self__
    elif isinstance(thing, types.FunctionType):
        yield from ((f"uses `{name}`", value) for name, value in _variables(thing))
    elif isinstance(thing, functools.partial):
        yield "wraps", thing.func
        yield from ((f"is given `{name}`", value) for name, value in thing.keywords.items())
        yield from (("is given", value) for value in thing.args)
    elif isinstance(thing, dict):
        yield from ((f"holds [{short_repr(key)}]", value) for key, value in thing.items())
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from ((f"holds [{number}]", value) for number, value in enumerate(thing))
    elif isinstance(thing, type):
        yield from (part for value in vars(thing).values() if inspect.isfunction(value) for part in _parts(value))
    else:
        adapted = getattr(thing, "_function", None)  # a user function inside a Penstock function
        if adapted is not None and type(thing).__module__.startswith("penstock."):
            yield from _parts(adapted)
        yield from ((f"has the attribute `{name}`", value) for name, value in getattr(thing, "__dict__", {}).items())
        yield from _parts(type(thing))


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The outer variables that a function uses, and its default values."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    names = [p.name for p in inspect.signature(function).parameters.values() if p.default is not p.empty]
    yield from zip(names, (function.__defaults__ or ()), strict=False)


def _describe(thing: Any) -> str:
    """Describes a function or an object by its name and location in the program."""
    if type(thing).__module__.startswith("penstock.") and (adapted := getattr(thing, "_function", None)) is not None:
        return _describe(adapted)
    location = definition_location(thing)
    at = f" at {location}" if location else ""
    if isinstance(thing, types.FunctionType):
        return f"The lambda{at}" if thing.__name__ == "<lambda>" else f"The function '{thing.__name__}'{at}"
    return f"The {type(thing).__name__}{at}"


def _type_name(thing: Any) -> str:
    kind = type(thing)
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )
    return f"a {name}"
