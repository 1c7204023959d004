"""The runtime context of a function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StateError
from penstock.testing import Harness, PushSource


class ReadContext(ps.MapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        context = self.context
        return (
            context.get_task_name(),
            context.get_task_name_with_subtasks(),
            context.get_index_of_this_subtask(),
            context.get_number_of_parallel_subtasks(),
            context.get_max_number_of_parallel_subtasks(),
            context.get_attempt_number(),
            context.get_job_parameter("region", "nowhere"),
            context.get_job_parameter("missing", "default"),
        )


@pytest.mark.parametrize("keyed", [False, True])
def test_a_function_knows_its_subtask(keyed: bool) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2).set_job_parameters({"region": "north"})
    stream: Any = env.from_source(PushSource())
    stream = stream.key_by(lambda v: v) if keyed else stream
    harness = Harness(env)
    out = harness.collect(stream.map(ReadContext()).name("look"))
    harness.push(1)
    (result,) = out
    index = result[2]
    assert result == ("look", f"look ({index + 1}/2)#0", index, 2, 128, 0, "north", "default")


class UsesState(ps.MapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        runtime_context.get_map_state(ps.MapStateDescriptor("counts", str, int))

    def map(self, value: Any) -> Any:
        return value


def test_state_requires_a_keyed_stream() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).map(UsesState()))
    with pytest.raises(StateError, match=r"'map' uses state 'counts', but its stream has no key"):
        harness.push(1)


CALLS: list[str] = []


class RecordCalls(ps.FilterFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        CALLS.append("open")

    def filter(self, value: Any) -> bool:
        CALLS.append("call")
        return True

    def close(self) -> None:
        CALLS.append("close")


@pytest.mark.parametrize("keyed", [False, True])
def test_functions_are_opened_before_and_closed_after_their_elements(keyed: bool) -> None:
    CALLS.clear()
    env = ps.StreamExecutionEnvironment()
    stream: Any = env.from_source(PushSource())
    with Harness(env) as harness:
        harness.collect((stream.key_by(str) if keyed else stream).filter(RecordCalls()))
        harness.push(1)
        harness.push(2)
    assert CALLS == ["open", "call", "call", "close"]


class Annotated(ps.KeyedProcessFunction):
    """Annotated as in PyFlink programs. The names must exist when Python evaluates the annotations."""

    def process_element(self, value: Any, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Any]:
        yield ctx.get_current_key(), ctx.timestamp(), ctx.timer_service().current_processing_time()

    def on_timer(self, timestamp: int, ctx: ps.KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.time_domain()


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (ps.ProcessFunction, ["Context"]),
        (ps.KeyedProcessFunction, ["Context", "OnTimerContext"]),
        (ps.CoProcessFunction, ["Context"]),
        (ps.KeyedCoProcessFunction, ["Context", "OnTimerContext"]),
        (ps.BroadcastProcessFunction, ["BaseContext", "Context", "ReadOnlyContext"]),
        (ps.KeyedBroadcastProcessFunction, ["BaseContext", "Context", "ReadOnlyContext", "OnTimerContext"]),
    ],
)
def test_contexts_have_the_names_of_pyflink(function: type, names: list[str]) -> None:
    methods = {"Context": "timestamp", "ReadOnlyContext": "get_broadcast_state", "OnTimerContext": "time_domain"}
    for name in names:
        assert hasattr(getattr(function, name), methods.get(name, "current_watermark"))


def test_annotated_functions_run() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(PushSource()).key_by(str).process(Annotated()))
    harness.push("a", 5)
    assert out == [("a", 5, 0)]


def test_functions_may_be_written_with_and_without_type_parameters() -> None:
    class Typed(ps.KeyedProcessFunction[str, int, str]):
        def process_element(self, value: int, ctx: ps.KeyedProcessFunction.Context) -> Iterator[str]:
            yield str(value)

    class Untyped(ps.KeyedProcessFunction):
        def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
            yield value

    assert issubclass(Typed, ps.KeyedProcessFunction)
    assert list(Untyped().process_element(1, None)) == [1]  # type: ignore[no-untyped-call]
