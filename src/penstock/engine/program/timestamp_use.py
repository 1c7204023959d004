"""Whether anybody looks at the timestamps that elements come with from their source: if not, they need not be read at all."""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

from penstock.engine.steps import CheckStep, Step, TransformStep, WatermarkStep

_SEE_ALL = {"locals", "vars", "eval", "exec", "dir"}


def ignores_timestamp(assign: Any) -> bool:
    """Whether a function of an element and its timestamp never reads the second; False when that cannot be told.

    >>> ignores_timestamp(lambda event, timestamp: event["time"])
    True
    >>> ignores_timestamp(lambda event, timestamp: max(event["time"], timestamp))
    False
    """
    bound = inspect.ismethod(assign)
    function = assign.__func__ if bound else assign
    if not isinstance(function, FunctionType):
        return False
    code: CodeType = function.__code__
    place = 2 if bound else 1
    if code.co_argcount != place + 1 or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return False
    name = code.co_varnames[place]
    if name in code.co_cellvars or _SEE_ALL & set(code.co_names):
        return False
    # One instruction of newer versions of Python may load two names.
    return not any(name == i.argval or (isinstance(i.argval, tuple) and name in i.argval) for i in _of_locals(code))


def asks_for_timestamps(steps: list[Step]) -> bool:
    """Whether anything in a source's chain looks at the timestamps that elements came with, before they get others."""
    return any(_asks(step) for step in steps)


def _asks(step: Step) -> bool:
    if isinstance(step, WatermarkStep):
        assign = step.strategy.timestamp_of()
        return step.guarded or assign is None or not ignores_timestamp(assign)
    if isinstance(step, CheckStep):
        return asks_for_timestamps(step.next)
    if isinstance(step, TransformStep) and step.kind in ("map", "flat_map", "filter") and not step.guarded:
        return asks_for_timestamps(step.next)
    return True


def _of_locals(code: CodeType) -> list[dis.Instruction]:
    return [i for i in dis.get_instructions(code) if "FAST" in i.opname]
