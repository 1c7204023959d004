"""The compiler: guarded branches, shared results, distinct values, constants."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.errors import ExpressionError
from penstock.runtime.relational.expressions.compiler import Compiler, Condition, Projection
from penstock.runtime.relational.expressions.frame import Frame, Session
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.functions.definition import CallContext
from penstock.runtime.relational.functions.kernels import by_value
from penstock.types.logical.kinds import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP_LTZ_3

A = Column(0, INT, "a")
ZERO, ONE = Literal(0, INT), Literal(1, INT)
DIVIDED = Call("/", (Literal(10, INT), A), INT)


def run(expression: Expression, *columns: list[Any]) -> list[Any]:
    arrays = [pa.array(c, pa.int32()) for c in columns]
    return Projection([expression])(arrays, len(columns[0]))[0].to_pylist()  # type: ignore[no-any-return]


def test_division_by_zero_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="DIVISION_BY_ZERO"):
        run(DIVIDED, [1, 0])


@pytest.mark.parametrize("row", [0, 1, 2, 3, 4])
def test_an_error_names_the_expression_and_the_first_row_that_fails(row: int) -> None:
    values = [1] * row + [0] + [2, 0][: 4 - row]
    with pytest.raises(ExpressionError) as caught:
        run(
            Call("+", (Call("/", (A, Column(1, INT, "b")), INT), ONE), INT),
            [10 + i for i in range(len(values))],
            values,
        )
    assert caught.value.code == "DIVISION_BY_ZERO"
    assert caught.value.text.endswith(f"The expression is (a / b), for a = {10 + row}, b = 0.")


def test_an_error_of_constants_names_the_expression_only() -> None:
    with pytest.raises(ExpressionError, match=r"The expression is \(1 / 0\)\.$"):
        run(Call("/", (ONE, ZERO), INT), [5, 6])


def test_an_error_shortens_long_values() -> None:
    cast = Call("CAST", (Column(0, STRING, "a"),), INT)
    with pytest.raises(ExpressionError, match=r"for a = 'x{76}\.\.\.\.$"):
        Projection([cast])([pa.array(["1", "x" * 200])], 2)


def test_a_branch_that_can_fail_runs_on_its_rows_only() -> None:
    case = Call("CASE", (Call("=", (A, ZERO), BOOLEAN), ZERO, DIVIDED), INT)
    assert run(case, [0, 5, None, 2]) == [0, 2, None, 5]


def test_coalesce_stops_at_the_first_value() -> None:
    assert run(Call("COALESCE", (A, Call("/", (ONE, ZERO), INT)), INT), [3, 4]) == [3, 4]


def test_and_does_not_evaluate_decided_rows() -> None:
    condition = Call("AND", (Call("<>", (A, ZERO), BOOLEAN), Call(">", (DIVIDED, ONE), BOOLEAN)), BOOLEAN)
    assert run(condition, [0, 5, 20, None]) == [False, True, False, None]
    assert Condition(condition)([pa.array([0, 5, None], pa.int32())], 3).to_pylist() == [False, True, False]


def test_equal_subexpressions_are_computed_once() -> None:
    compiler = Compiler()
    first = compiler.compile(Call("*", (Call("+", (A, ONE), INT), ONE), INT))
    second = compiler.compile(Call("-", (Call("+", (A, ONE), INT), ONE), INT))
    frame = Frame([pa.array([1, 2], pa.int32())], 2, Session())
    first.column(frame)
    known = len(frame._results)
    second.column(frame)
    assert len(frame._results) == known + 1


def test_functions_without_a_kernel_run_once_per_distinct_value() -> None:
    calls: list[str] = []

    def counted(value: str) -> str:
        calls.append(value)
        return value.upper()

    column = pa.array(["a", "b", None] * 20)
    context = CallContext(STRING, (STRING,), (), 60, Session())
    assert by_value(counted, strict=True)(context, column).to_pylist() == ["A", "B", None] * 20
    assert calls == ["a", "b"]


def test_integers_wrap_around() -> None:
    assert run(Call("+", (A, ONE), INT), [2**31 - 1]) == [-(2**31)]


def test_functions_of_the_clock_agree_in_a_batch_and_change_between_batches() -> None:
    times = itertools.count(0, 1500)
    calls = [
        Call(name, (), BIGINT if name == "UNIX_TIMESTAMP" else TIMESTAMP_LTZ_3)
        for name in ("NOW", "CURRENT_TIMESTAMP", "UNIX_TIMESTAMP")
    ]
    projection = Projection(calls, Session(clock=lambda: next(times)))
    found = [[pc.cast(c, pa.int64()).to_pylist() for c in projection([], 1)] for _ in range(3)]
    assert found == [[[0], [0], [0]], [[1500], [1500], [1]], [[3000], [3000], [3]]]
