"""Calls of scalar functions: by rows, with pandas and Arrow objects, and asynchronous ones."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.errors import UserFunctionError
from penstock.row import Row
from penstock.runtime.relational.expressions.compiler import Condition, Projection
from penstock.runtime.relational.expressions.tree import Call, Column, Literal
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.python_functions.function import AsyncLimits
from penstock.runtime.relational.python_functions.scope import FunctionScope
from penstock.types.logical import kinds
from penstock.types.logical.kinds import BIGINT, BOOLEAN, INT, STRING
from tests.unit.runtime.relational.python_functions.calls import function, python_call, results

NUMBERS = (BIGINT, [1, 2, None])


def half(x: int) -> int:
    return 10 // (x - 2)


@pytest.mark.parametrize("style", ["general", "pandas", "arrow"])
def test_one_column(style: str) -> None:
    call: Any = {
        "general": lambda x: None if x is None else x + 1,
        "pandas": lambda x: x + 1,
        "arrow": lambda x: pc.add(x, 1),
    }[style]
    assert results(call, [NUMBERS], BIGINT, style=style) == [2, 3, None]


@pytest.mark.parametrize("style", ["general", "pandas", "arrow"])
def test_no_rows(style: str) -> None:
    assert results(lambda x: 1 / 0, [(BIGINT, [])], BIGINT, style=style) == []


def test_no_arguments() -> None:
    projection = Projection([python_call(function(lambda: 5), [], INT)])
    assert projection([], 3)[0].to_pylist() == [5, 5, 5]


def test_constants() -> None:
    two = Literal(2, BIGINT)
    for style in ("general", "pandas", "arrow"):
        call: Any = (lambda x, n: pc.multiply(x, n)) if style == "arrow" else (lambda x, n: x * n)
        python = function(call, style=style)
        projection = Projection([Call("PYTHON", (Column(0, BIGINT), two), BIGINT, (python,))])
        assert projection([pa.array([1, 2], pa.int64())], 2)[0].to_pylist() == [2, 4]


@pytest.mark.parametrize("style", ["general", "pandas"])
def test_a_function_of_whole_rows(style: str) -> None:
    call: Any = {"general": lambda row: row.a + row[1], "pandas": lambda frame: frame["a"] + frame["b"]}[style]
    columns = [(INT, [1, 2]), (INT, [10, 20])]
    assert results(call, columns, INT, style=style, row_names=("a", "b")) == [11, 22]


def test_a_frame_has_the_fields_of_rows() -> None:
    row = kinds.RowType((kinds.Field("c", INT), kinds.Field("d", INT)))
    columns: list[Any] = [(INT, [1, 2]), (row, [(10, 20), (30, 40)])]
    found = results(lambda x: x.a + x.c + x.d, columns, INT, style="pandas", row_names=("a", "b"))
    assert found == [31, 72]


def test_rows_as_results() -> None:
    type_ = kinds.RowType((kinds.Field("a", INT), kinds.Field("b", STRING)))
    assert results(lambda x: Row(x, str(x)), [(INT, [1])], type_) == [(1, "1")]
    frames = results(lambda x: x.to_frame().assign(b="z"), [(INT, [1])], type_, style="pandas")
    assert frames == [(1, "z")]


def test_calls_of_a_deterministic_function_are_shared_and_others_are_not() -> None:
    class Counter:
        def __init__(self) -> None:
            self.calls = 0

        def eval(self) -> int:
            self.calls += 1
            return self.calls

    for deterministic, wanted in ((True, [1, 1]), (False, [1, 2])):
        call = python_call(function(Counter(), deterministic=deterministic), [], INT)
        with FunctionScope("calc").active():
            projection = Projection([call, call])
        assert [c[0].as_py() for c in projection([], 1)] == wanted


def test_branches_call_the_function_for_their_rows_only() -> None:
    call = python_call(function(half), [BIGINT], BIGINT)
    two = Call("=", (Column(0, BIGINT), Literal(2, BIGINT)), BOOLEAN)
    case = Call("CASE", (two, Literal(0, BIGINT), call), BIGINT)
    assert Projection([case])([pa.array([1, 2, 4])], 3)[0].to_pylist() == [-10, 0, 5]
    guarded = Call("AND", (Call("NOT", (two,), BOOLEAN), Call(">", (call, Literal(0, BIGINT)), BOOLEAN)), BOOLEAN)
    assert Condition(guarded)([pa.array([1, 2, 4])], 3).to_pylist() == [False, False, True]


# -- asynchronous functions


def test_asynchronous_calls_run_at_the_same_time_and_keep_their_order() -> None:
    class Meeting:
        """Each call waits until all are there."""

        def __init__(self, number: int) -> None:
            self.number = number

        def open(self, context: object) -> None:
            self.present = 0

        async def eval(self, x: int) -> int:
            self.present += 1
            while self.present < self.number:
                await asyncio.sleep(0)
            return x * 2

    limits = AsyncLimits(capacity=5, timeout=60_000)
    assert results(Meeting(5), [(INT, [1, 2, 3, 4, 5])], INT, style="async", limits=limits) == [2, 4, 6, 8, 10]


def test_an_asynchronous_call_is_tried_again() -> None:
    class Flaky:
        def open(self, context: object) -> None:
            self.seen: set[int] = set()

        async def eval(self, x: int) -> int:
            if x not in self.seen:
                self.seen.add(x)
                raise OSError("not now")
            return x

    limits = AsyncLimits(attempts=1, delay=1)
    assert results(Flaky(), [(INT, [1, 2])], INT, style="async", limits=limits) == [1, 2]
    with pytest.raises(UserFunctionError, match=r"OSError: not now.*called with \(1,\)"):
        results(Flaky(), [(INT, [1])], INT, style="async", limits=AsyncLimits(attempts=0))


def test_an_asynchronous_call_that_takes_too_long() -> None:
    async def slow(x: int) -> int:
        await asyncio.sleep(3600)
        return x

    with pytest.raises(
        UserFunctionError, match=r"PYTHON_FUNCTION_FAILED.*'slow' raised TimeoutError.*called with \(7,\)"
    ):
        results(slow, [(INT, [7])], INT, style="async", limits=AsyncLimits(timeout=20, attempts=0))


# -- errors


def test_a_function_that_raises() -> None:
    with pytest.raises(UserFunctionError) as raised:
        results(half, [(BIGINT, [1, 2, 3])], BIGINT)
    text = str(raised.value)
    assert raised.value.code == "PYTHON_FUNCTION_FAILED"
    assert "'half' raised ZeroDivisionError" in text
    assert "called with (2,)" in text
    assert "test_calls.py:" in text
    assert raised.value.failed is not None
    assert raised.value.failed.element == "(2,)"


@pytest.mark.parametrize(
    ("style", "call", "words"),
    [
        ("general", lambda x: str(x), "returned '1' (str), which does not fit BIGINT"),
        ("pandas", lambda x: 5, "returned int"),
        ("pandas", lambda x: x[:1], "returned 1 values for 2 rows"),
        ("pandas", lambda x: x.astype(str) + "x", "do not fit"),
        ("arrow", lambda x: [1], "returned list"),
        ("arrow", lambda x: x[:1], "returned 1 values for 2 rows"),
        ("arrow", lambda x: pa.array(["a", "b"]), "a column of string"),
    ],
)
def test_wrong_results(style: str, call: Any, words: str) -> None:
    with pytest.raises(UserFunctionError) as raised:
        results(call, [(BIGINT, [1, 2])], BIGINT, style=style)
    assert raised.value.code == "PYTHON_FUNCTION_RESULT"
    assert words in str(raised.value)


@pytest.mark.parametrize("style", ["general", "pandas", "arrow"])
def test_null_where_the_type_has_none(style: str) -> None:
    with pytest.raises(UserFunctionError, match="NOT NULL"):
        results(lambda x: x, [(BIGINT, [1, None])], BIGINT.with_nullable(False), style=style)


# -- lifecycle


class Recorder:
    """Writes its calls to a list of the class."""

    events: ClassVar[list[str]] = []

    def open(self, context: Any) -> None:
        self.events.append("open")

    def close(self) -> None:
        self.events.append("close")

    def eval(self, x: int) -> int:
        self.events.append("eval")
        return x


def test_a_function_is_opened_once_and_closed_with_its_scope() -> None:
    python = function(Recorder())
    Recorder.events.clear()
    scope = FunctionScope("calc", "uid")
    with scope.active():
        one = Projection([python_call(python, [INT], INT)])
        two = Condition(Call("=", (python_call(python, [INT], INT), Column(0, INT)), BOOLEAN))
    column = from_values([1], INT)
    one([column], 1)
    two([column], 1)
    scope.close()
    scope.close()
    assert Recorder.events == ["open", "eval", "eval", "close"]


def test_open_that_raises() -> None:
    class Broken:
        def open(self, context: object) -> None:
            raise RuntimeError("no model")

        def eval(self, x: int) -> int:
            return x

    with pytest.raises(UserFunctionError, match=r"open\(\) of the function 'Broken' raised RuntimeError: no model"):
        results(Broken(), [(INT, [1])], INT)
