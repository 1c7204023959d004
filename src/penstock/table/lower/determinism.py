"""Refuses Python functions that are not deterministic where rows are retracted, if the session asks for it.

A retraction must equal the row that it removes. A function that returns other values for the same row breaks that. Flink accepts it
by default; with 'table.optimizer.non-deterministic-update.strategy' = 'TRY_RESOLVE' it is an error there, and here.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import PlanError
from penstock.runtime.relational.expressions.tree import Expression, python_function, walk
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.table.lower.settings import QuerySettings

STRATEGY = "table.optimizer.non-deterministic-update.strategy"


def check_retractable(functions: Iterable[PythonFunction], settings: QuerySettings) -> None:
    """Raises an error if a function that changes its results reads a changelog, and the session wants to know."""
    if settings.options.get(STRATEGY, "IGNORE").strip().upper() != "TRY_RESOLVE":
        return
    for function in functions:
        if not function.deterministic:
            raise PlanError(
                "PYTHON_FUNCTION_NOT_DETERMINISTIC",
                f"The function '{function.label}' is not deterministic, and reads rows that are updated or deleted: its result for "
                f"a retracted row would differ from the row to remove. Call it before the aggregation or the join, declare it as "
                f"deterministic, or set '{STRATEGY}' to 'IGNORE'.",
            )


def functions_in(expressions: Iterable[Expression]) -> list[PythonFunction]:
    """Returns the Python functions that expressions call."""
    found = (python_function(part) for expression in expressions for part in walk(expression))
    return [function for function in found if function is not None]
