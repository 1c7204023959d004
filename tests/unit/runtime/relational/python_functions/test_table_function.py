"""Table functions over random rows, compared with loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UserFunctionError
from penstock.row import Row
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import StepContext
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.python_functions.table_function import TableFunctionStep
from penstock.types.logical.kinds import INT, STRING, LogicalType
from tests.unit.runtime.relational.driver import from_changes
from tests.unit.runtime.relational.python_functions.calls import function

CONTEXT = StepContext(lambda: np.array([]), lambda: 0, lambda: np.array([]))


def run(
    call: Any, values: list[Any], results: list[LogicalType], *, outer: bool = False, kinds: list[int] | None = None
) -> list[tuple[str, tuple[Any, ...]]]:
    """Calls a function with a column of numbers. Returns kinds and rows."""
    step = TableFunctionStep(function(call), [1], [INT], results, outer)
    step.open()
    columns = [from_values(list(range(len(values))), INT), from_values(values, INT)]
    changes = Changes(columns, len(values), None if kinds is None else np.array(kinds, np.int8))
    result = step.run(changes, CONTEXT)
    assert isinstance(result.rows, Changes)
    assert result.origins is not None
    found = from_changes(result.rows, [INT, INT, *results])
    assert [row[0] for _, row in found] == result.origins.tolist()
    return [(kind, row[1:]) for kind, row in found]


@pytest.mark.parametrize("outer", [False, True])
@given(values=st.lists(st.none() | st.integers(0, 3), max_size=6))
def test_rows_of_a_generator(values: list[int | None], outer: bool) -> None:
    def repeat(n: int | None) -> Any:
        for i in range(n or 0):
            yield i, f"{n}{i}"

    wanted: list[tuple[Any, ...]] = []
    for value in values:
        rows = [(value, i, f"{value}{i}") for i in range(value or 0)]
        wanted += rows or ([(value, None, None)] if outer else [])
    assert [row for _, row in run(repeat, values, [INT, STRING], outer=outer)] == wanted


@pytest.mark.parametrize(
    ("returned", "rows"),
    [
        (None, []),
        ([], []),
        ([1, 2], [(1,), (2,)]),
        (range(2), [(0,), (1,)]),
        (iter([5]), [(5,)]),
        (map(abs, [-1]), [(1,)]),
        (7, [(7,)]),
        ((7,), [(7,)]),
        (Row(7), [(7,)]),
        ([Row(7), (8,), None], [(7,), (8,), (None,)]),
    ],
)
def test_what_a_function_may_return(returned: Any, rows: list[tuple[Any, ...]]) -> None:
    values = (
        list(returned) if hasattr(returned, "__next__") else returned
    )  # an iterator cannot be pickled with the function
    call: Any = (lambda n: iter(values)) if hasattr(returned, "__next__") else (lambda n: values)
    assert [row[1:] for _, row in run(call, [1], [INT])] == rows


def test_changes_keep_their_kinds() -> None:
    found = run(lambda n: range(n), [2, 2, 1], [INT], kinds=[0, 1, 2])
    assert found == [("+I", (2, 0)), ("+I", (2, 1)), ("-U", (2, 0)), ("-U", (2, 1)), ("+U", (1, 0))]


def test_a_type_without_null_in_an_outer_join() -> None:
    assert run(lambda n: [] if n else [3], [0, 1], [INT], outer=True) == [("+I", (0, 3)), ("+I", (1, None))]


def test_a_row_with_too_many_values() -> None:
    with pytest.raises(UserFunctionError, match=r"called with \(1,\), returned a row of 2 values, and has 1 column "):
        run(lambda n: [(n, n)], [1], [INT])


def test_a_generator_that_raises() -> None:
    def failing(n: int) -> Any:
        yield n
        raise KeyError(n)

    with pytest.raises(
        UserFunctionError, match=r"'failing' raised KeyError: 5.*test_table_function.py:\d+.*called with \(5,\)"
    ):
        run(failing, [5], [INT])


def test_a_value_of_another_type() -> None:
    with pytest.raises(UserFunctionError, match=r"called with \(2,\), returned 'x' \(str\)"):
        run(lambda n: [1] if n == 1 else ["x"], [1, 2], [INT])
