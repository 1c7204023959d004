"""The specification of process table functions."""

from __future__ import annotations

from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.runtime.relational.specs.operators import OperatorSpec
from penstock.types.logical.kinds import RowType


class ProcessTableSpec(OperatorSpec, frozen=True, kw_only=True, tag="process_table"):
    """A Python function with state and timers. Output: the keys, the columns of its result, and the time if there is one.

    row_names: of the columns of the input. arguments: constants by the names of parameters. time_column: the column of `on_time`,
    or -1. emitted: the type of the rows that the function emits. zone: the time zone of the session.
    """

    function: PythonFunction
    row_names: tuple[str, ...]
    emitted: RowType
    arguments: tuple[tuple[str, Literal], ...] = ()
    time_column: int = -1
    zone: str = "UTC"
