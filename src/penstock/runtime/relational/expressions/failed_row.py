"""Finds the row whose values an expression cannot be computed for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from penstock.errors import ExpressionError
from penstock.runtime.relational.expressions.description import expression_text
from penstock.runtime.relational.expressions.frame import Frame, Value
from penstock.runtime.relational.expressions.tree import Call, Column, walk

_LONGEST = 80


def located(
    error: ExpressionError,
    call: Call,
    frame: Frame,
    values: Sequence[Value],
    compute: Callable[[Sequence[Value], int], object],
) -> ExpressionError:
    """Returns the error with the expression that failed, and the values of its columns in the first row that fails.

    compute: computes the call for arguments; it is called again for parts of the rows.
    """
    columns = {node.index: str(node) for node in walk(call) if isinstance(node, Column)}
    where = ""
    if columns:
        row, error = _first_failure(error, frame.length, values, compute)
        found = {name: frame.columns[index][row].as_py() for index, name in sorted(columns.items())}
        where = ", for " + ", ".join(f"{name} = {_short(value)}" for name, value in found.items())
    return ExpressionError(error.code, f"{error.text} The expression is {expression_text(call)}{where}.")


def _first_failure(
    error: ExpressionError, length: int, values: Sequence[Value], compute: Callable[[Sequence[Value], int], object]
) -> tuple[int, ExpressionError]:
    """Halves the rows until one is left."""
    start = 0
    while length > 1:
        half = length // 2
        try:
            compute([v.slice(start, half) if isinstance(v, pa.Array) else v for v in values], half)
        except ExpressionError as earlier:
            error, length = earlier, half
        else:
            start, length = start + half, length - half
    return start, error


def _short(value: object) -> str:
    text = "NULL" if value is None else repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
