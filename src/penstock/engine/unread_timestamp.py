"""Whether a timestamp assigner looks at the timestamp that an element came with: if not, that need not be read at all."""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

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


def _of_locals(code: CodeType) -> list[dis.Instruction]:
    return [i for i in dis.get_instructions(code) if "FAST" in i.opname]
