"""The names of the state that a function declares, read from its source: nothing of it is run."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def state_names(function: Any) -> list[str]:
    """The names that a function's classes give to state descriptors, in order; names that are computed are not seen."""
    found: list[str] = []
    for one in (function, *getattr(function, "adapts", ())[:1]):
        for kind in type(one).__mro__ if one is not None else ():
            if kind.__module__ not in ("builtins", "typing", "abc"):
                found += _in_source(kind)
    return list(dict.fromkeys(found))


def _in_source(kind: type) -> list[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # typed into a shell, or made by a program
        return []
    return [name for node in ast.walk(tree) if isinstance(node, ast.Call) for name in _named(node)]


def _named(call: ast.Call) -> list[str]:
    """
    >>> _named(ast.parse('ValueStateDescriptor("sum", int)').body[0].value)
    ['sum']
    """
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    if not called.endswith("StateDescriptor"):
        return []
    return [g.value for g in given if isinstance(g, ast.Constant) and isinstance(g.value, str)]
