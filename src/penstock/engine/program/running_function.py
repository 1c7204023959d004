"""The operator whose functions run now: log lines and errors name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class RunningFunction:
    """Name and subtask of the running operator. Hosts and chains set them once per step and batch."""

    __slots__ = ("operator", "subtask")

    def __init__(self) -> None:
        self.operator = ""
        self.subtask = 0


_active: ContextVar[RunningFunction | None] = ContextVar("penstock_running_function", default=None)


@contextmanager
def running_function_scope() -> Iterator[RunningFunction]:
    """Lets code around a batch see which operator runs inside. A scope within a scope uses the outer one.

    >>> with running_function_scope() as running:
    ...     running_function().operator = "parse"
    ...     running.operator
    'parse'
    """
    outer = _active.get()
    running = RunningFunction() if outer is None else outer
    _active.set(running)
    try:
        yield running
    finally:
        _active.set(outer)


def running_function() -> RunningFunction:
    """The record of the current scope, or a new one outside of any scope."""
    return _active.get() or RunningFunction()
