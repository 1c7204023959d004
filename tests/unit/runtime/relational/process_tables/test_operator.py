"""Process table functions: state and timers of partitions, whatever the batches and restarts are."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given, settings

from penstock.errors import UserFunctionError
from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.process_tables.context import ProcessTableContext
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.runtime.relational.specs.process_table import ProcessTableSpec
from penstock.table.user_functions.process_table_function import ProcessTableFunction, udptf
from penstock.types.logical.kinds import BIGINT, INT, STRING, LogicalType, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.windows.streams import MS, streams

_TIME = TimestampType(3, attribute="ROWTIME")
_TYPES: tuple[LogicalType, ...] = (STRING, BIGINT, _TIME)


class Visits(ProcessTableFunction[Any]):
    """Emits the number of rows of a partition when no row came for some time."""

    def create_state(self) -> Any:
        return {"rows": 0}

    def eval(self, ctx: ProcessTableContext, state: Any, row: Any, gap: int = 5) -> Any:
        state["rows"] += 1
        ctx.register_on_time((ctx.time() or 0) + gap, "end")
        if state["rows"] == 1:
            yield "start", row.value

    def on_timer(self, ctx: ProcessTableContext, state: Any) -> Any:
        yield ctx.timer_name(), state["rows"]
        ctx.clear_all()


class Repeats(ProcessTableFunction[Any]):
    """Has timers without names, which register others."""

    def eval(self, ctx: ProcessTableContext, state: Any, row: Any) -> Any:
        ctx.register_on_time(10)
        ctx.register_on_time(10)
        ctx.register_on_time(datetime.datetime(1970, 1, 1, 0, 0, 0, 30_000))
        ctx.register_on_time(99, "removed")
        ctx.clear_timer("removed")

    def on_timer(self, ctx: ProcessTableContext, state: Any) -> Any:
        assert ctx.timer_name() is None
        if ctx.time() == 10:
            ctx.register_on_time(20)
            ctx.clear_timer(30)
        return [("at", ctx.time())]


class Failing(ProcessTableFunction[Any]):
    def eval(self, ctx: ProcessTableContext, state: Any, row: Any) -> Any:
        return [("x", 1 // row.value)] if row.value < 2 else ["one column"]


def _slot(function: ProcessTableFunction[Any], keys: tuple[int, ...] = (0,), **facts: Any) -> RelationalSlot:
    wrapper = udptf(function, result_type="ROW<what STRING, n BIGINT>")
    spec: Any = ProcessTableSpec(
        input_types=_TYPES,
        keys=keys,
        function=PythonFunction("f", wrapper.payload()),
        row_names=("key", "value", "time"),
        emitted=wrapper.emitted,
        time_column=2,
        output_types=(*(_TYPES[k] for k in keys), STRING, BIGINT, TimestampType(3)),
        **facts,
    )
    return RelationalSlot(spec)


@settings(max_examples=50, deadline=None)
@given(streams())
def test_batches_and_restarts_do_not_show(stream: Any) -> None:
    assert stream.run(_slot(Visits())) == stream.run_one_by_one(_slot(Visits()))


def test_timers_and_state_of_partitions() -> None:
    slot = _slot(Visits(), arguments=(("gap", Literal(3, INT)),))
    assert slot.run([("a", 7, 1 * MS), ("b", 8, 2 * MS), ("a", 9, 3 * MS)]) == [
        ("+I", ("a", "start", 7, 1 * MS)),
        ("+I", ("b", "start", 8, 2 * MS)),
    ]
    slot.restart()
    assert slot.run_marked(watermark=5) == [(("+I", ("b", "end", 1, 5 * MS)), 4)]
    slot.restart()
    assert slot.run(watermark=100) == [("+I", ("a", "end", 2, 6 * MS))]
    assert slot.count_entries() == 0
    assert slot.operator.next_event_time(100) is None


def test_timers_without_names() -> None:
    slot = _slot(Repeats(), keys=())
    slot.run([("a", 1, 1 * MS), ("a", 2, 2 * MS)])
    assert slot.operator.next_event_time(0) == 10
    assert [row for _, row in slot.run(watermark=50)] == [("at", 10, 10 * MS), ("at", 20, 20 * MS)]
    assert slot.count_entries() == 0


def test_errors_show_the_row_and_the_line() -> None:
    with pytest.raises(UserFunctionError, match=r"ZeroDivisionError.*test_operator.py.*key='a', value=0"):
        _slot(Failing()).run([("a", 0, 1 * MS)])
    with pytest.raises(UserFunctionError, match="2 fields") as raised:
        _slot(Failing()).run([("a", 5, 1 * MS)])
    assert raised.value.code == "PYTHON_FUNCTION_RESULT"
