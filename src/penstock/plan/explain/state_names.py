"""Finds the state names of a function in its source code, without running it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def state_names(function: Any) -> list[str]:
    """The names of the state descriptors in the classes of a function, in order. Computed names are not found."""
    names: list[str] = []
    for one in (function, *getattr(function, "adapts", ())[:1]):
        for kind in type(one).__mro__ if one is not None else ():
            if kind.__module__ not in ("builtins", "typing", "abc"):
                names += _names_in_source(kind)
    return list(dict.fromkeys(names))


def _names_in_source(kind: type) -> list[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # defined in a shell or generated
        return []
    return [name for node in ast.walk(tree) if isinstance(node, ast.Call) for name in _descriptor_names(node)]


def _descriptor_names(call: ast.Call) -> list[str]:
    """
    >>> _descriptor_names(ast.parse('ValueStateDescriptor("sum", int)').body[0].value)
    ['sum']
    """
    callee = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    arguments = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    if not callee.endswith("StateDescriptor"):
        return []
    return [g.value for g in arguments if isinstance(g, ast.Constant) and isinstance(g.value, str)]
