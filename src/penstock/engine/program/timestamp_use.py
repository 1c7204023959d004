"""Finds out whether a chain reads the timestamps of its source. If not, the source need not read them either."""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

from penstock.engine.program.steps import CheckStep, SendStep, SinkStep, Step, TransformStep, WatermarkStep
from penstock.runtime.relational.column_key import ColumnKey

_READ_ALL_VARIABLES = {"locals", "vars", "eval", "exec", "dir"}


def ignores_timestamp(assign: Any) -> bool:
    """Whether a timestamp assigner certainly never reads its second argument.

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
    index = 2 if bound else 1
    if code.co_argcount != index + 1 or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return False
    name = code.co_varnames[index]
    if name in code.co_cellvars or _READ_ALL_VARIABLES & set(code.co_names):
        return False
    # In newer versions of Python, one instruction may load two names.
    return not any(
        name == i.argval or (isinstance(i.argval, tuple) and name in i.argval)
        for i in _local_variable_instructions(code)
    )


def reads_timestamps(steps: list[Step]) -> bool:
    """Whether a step reads the timestamps of the source before a watermark step replaces them."""
    return any(_step_reads_timestamps(step) for step in steps)


def _step_reads_timestamps(step: Step) -> bool:
    if isinstance(step, WatermarkStep):
        if step.strategy.columns is not None:  # of a table: the time is a column
            return step.guarded
        assign = step.strategy.timestamp_function()
        return step.guarded or assign is None or not ignores_timestamp(assign)
    if isinstance(step, CheckStep):
        return reads_timestamps(step.next)
    if isinstance(step, TransformStep) and step.kind in ("map", "flat_map", "filter") and not step.guarded:
        return reads_timestamps(step.next)
    if isinstance(step, TransformStep) and step.kind == "columns" and not step.guarded:
        return getattr(step.function, "reads_timestamps", False) or reads_timestamps(step.next)
    if isinstance(step, SinkStep):  # dead letters of a sink contain timestamps
        return step.wants_timestamps or step.function is not None or bool(step.side)
    if isinstance(step, SendStep):  # times of tables are columns
        return not isinstance(step.selector, ColumnKey) or step.guarded or bool(step.side)
    return True


def _local_variable_instructions(code: CodeType) -> list[dis.Instruction]:
    return [i for i in dis.get_instructions(code) if "FAST" in i.opname]
