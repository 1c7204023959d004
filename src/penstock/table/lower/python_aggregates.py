"""Aggregates with functions of the user: checks that a function can do what its operator needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from penstock.errors import PlanError
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import GroupAggregateSpec, OverCall, WindowAggregateSpec

_Spec = TypeVar("_Spec", bound=GroupAggregateSpec | WindowAggregateSpec)


def with_python_calls(spec: _Spec, batch_mode: bool) -> _Spec:
    """Returns a specification whose Python functions are called in a way that they support. Raises PlanError if there is none."""
    if all(call.python is None for call in spec.calls):
        return spec
    window = isinstance(spec, WindowAggregateSpec)
    merges = isinstance(spec, WindowAggregateSpec) and spec.end_column < 0 and spec.window.kind != "TUMBLE"
    calls = tuple(_planned(call, spec.insert_only, merges, window or batch_mode) for call in spec.calls)
    return msgspec.structs.replace(spec, calls=calls)


def check_over(calls: Sequence[OverCall], batch_mode: bool) -> None:
    """Refuses pandas functions over all earlier rows of a partition that never ends."""
    for over in calls:
        python = over.call.python
        if python is not None and python.function.style == "pandas" and over.lower is None and not batch_mode:
            raise PlanError(
                "SQL_PANDAS_AGGREGATE",
                f"The pandas function '{python.function.label}' is called with UNBOUNDED PRECEDING, so it would keep all rows. "
                "Bound the frame of OVER, or write the function as a class that extends AggregateFunction.",
            )


def _planned(call: AggregateCall, insert_only: bool, merges: bool, bounded: bool) -> AggregateCall:
    python = call.python
    if python is None:
        return call
    name = python.function.label
    if python.function.style == "pandas":
        if not bounded:
            raise PlanError(
                "SQL_PANDAS_AGGREGATE",
                f"The pandas function '{name}' is called for groups that never end, so it would keep all rows. Group by a window, "
                "run the query in batch mode, or write the function as a class that extends AggregateFunction.",
            )
        return call
    if merges and not python.merges:
        return msgspec.structs.replace(call, python=msgspec.structs.replace(python, replays=True))
    if not insert_only and not python.retracts:
        raise PlanError(
            "SQL_RETRACT",
            f"The input of the function '{name}' has updates or deletes, but the function has no method retract(). Add "
            "retract(accumulator, ...), which removes the arguments of a row, or read an insert-only table.",
        )
    return call
