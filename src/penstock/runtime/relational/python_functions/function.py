"""A Python function as a part of a plan."""

from __future__ import annotations

from typing import Literal

import msgspec

PYTHON = "PYTHON"  # the name of the function in a Call whose first option is a PythonFunction


class AsyncLimits(msgspec.Struct, frozen=True):
    """Limits of the calls of an asynchronous function in a subtask: how many run at a time, in milliseconds how long a call may
    take with all its attempts, how often it is repeated, and how long it waits before.
    """

    capacity: int = 10
    timeout: int = 180_000
    attempts: int = 3
    delay: int = 100


class PythonFunction(msgspec.Struct, frozen=True, tag="PYTHON_FUNCTION"):
    """A function of the user: its name, and what a worker needs to call it.

    payload: the pickled object. It is no part of the meaning of a plan, because pickles of one function differ between processes.
    style: whether a call takes the values of a row, or whole columns as pandas or Arrow objects; or is a coroutine.
    row_names: names of the arguments, if the function takes them as one `Row`.
    path: the name by which a query called it, if it has one. Stored plans contain it instead of the payload.
    """

    label: str
    payload: bytes
    style: Literal["general", "pandas", "arrow", "async"] = "general"
    deterministic: bool = True
    row_names: tuple[str, ...] | None = None
    limits: AsyncLimits | None = None
    path: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"PythonFunction({self.label!r}, {self.style!r})"

    def __str__(self) -> str:
        return self.label
