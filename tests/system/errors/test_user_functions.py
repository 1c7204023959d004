"""A user function that raises: the error names operator, location, key, element and position for every kind of function."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import CallableSink, Chunk, Source
from penstock.connectors.scripted import At
from penstock.errors import InvalidKeyError, PenstockError, StateError, TimeError, UserFunctionError
from penstock.testing import Harness, PushSource

FILE = "tests/system/errors/test_user_functions.py"


def boom(value: Any, *_: Any) -> Any:
    if value == 13:
        raise ValueError("unlucky")
    return value


LINE = boom.__code__.co_firstlineno + 2


class Boom(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield boom(value)


class CoBoom(ps.KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield boom(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield boom(value)


class Summed(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.sum = runtime_context.get_reducing_state(ps.ReducingStateDescriptor("sum", lambda a, b: boom(b)))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.sum.add(value)
        self.sum.add(value)


class Counted(ps.KeyedProcessFunction):
    class Adds(ps.AggregateFunction):
        def create_accumulator(self) -> Any:
            return 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return boom(value)

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.sum = runtime_context.get_aggregating_state(ps.AggregatingStateDescriptor("sum", self.Adds()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.sum.add(value)


BY_TIMESTAMP = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(boom)


@pytest.mark.parametrize(
    ("build", "operator", "key"),
    [
        (lambda s: s.map(boom), "map", ""),
        (lambda s: s.flat_map(lambda v: [boom(v)]), "flat_map", ""),
        (lambda s: s.filter(boom), "filter", ""),
        (lambda s: s.key_by(boom), "key_by", ""),
        (lambda s: s.partition_custom(lambda key, n: boom(key) % n, lambda v: v), "custom", ", key 13"),
        (lambda s: s.partition_custom(lambda k, n: 0, boom), "custom", ""),
        (lambda s: s.assign_timestamps_and_watermarks(BY_TIMESTAMP), "watermarks", ""),
        (lambda s: s.key_by(lambda v: "k").map(boom), "map", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").flat_map(lambda v: [boom(v)]), "flat_map", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").filter(boom), "filter", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").process(Boom()), "process", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").reduce(lambda a, b: boom(b)), "reduce", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").process(Summed()), "process", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").process(Counted()), "process", ", key 'k'"),
        (lambda s: s.connect(s).key_by(lambda v: "k", lambda v: "k").process(CoBoom()), "co_process", ", key 'k'"),
        (lambda s: s.key_by(lambda v: "k").map(lambda v: v).map(boom), "map", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_of_every_kind_of_function(build: Any, operator: str, key: str) -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env, parallelism=2)
    harness.collect(build(env.from_source(PushSource(), source_name="numbers")))
    harness.push(7, split="left")
    with pytest.raises(UserFunctionError) as raised:
        harness.push_all([11, 13, 17], split="left")
    text = str(raised.value)
    assert text.startswith(f"[USER_FUNCTION] Operator '{operator}' (uid '{operator}-")
    assert (
        f"raised ValueError: unlucky at {FILE}:{LINE} in boom{key}, element 13, from source 'numbers', split 'left', "
        "position 2, batch 1. The batch was not committed. Fix the function and resume the job, or set "
        'on_error="dead_letter" on the operator to send such elements to its dead-letter output.'
    ) in text
    assert isinstance(raised.value.__cause__, ValueError)
    assert f'{FILE}", line {LINE}, in boom' in raised.value.__notes__[0]
    harness.push_all([11, 17], split="left")  # nothing of the failed batch remains


def test_the_location_is_in_the_program_and_not_in_a_library() -> None:
    def parse(text: str) -> Any:
        return json.loads(text)

    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).map(parse))
    line = parse.__code__.co_firstlineno + 1
    with pytest.raises(UserFunctionError, match=rf"raised JSONDecodeError: .* at {FILE}:{line} in parse, element '{{'"):
        harness.push("{")


def test_long_elements_are_shortened_and_a_failing_repr_is_reported() -> None:
    class Strange:
        def __repr__(self) -> str:
            raise RuntimeError

    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).map(lambda v: 1 / 0))
    with pytest.raises(UserFunctionError, match=r"element 'a{190,199}\.\.\., from"):
        harness.push("a" * 10_000)
    with pytest.raises(UserFunctionError, match="element <Strange whose repr raises RuntimeError>"):
        harness.push(Strange())


class Timed(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield boom(timestamp)


def test_an_error_of_a_timer_names_its_time() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).key_by(lambda v: "k").process(Timed()))
    harness.push_all([12, 13])
    with pytest.raises(UserFunctionError, match=r"unlucky at .* in boom, key 'k', timer at 13\. The batch"):
        harness.push_watermark(20)


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("method", ["open", "close"])
def test_errors_in_open_and_close(method: str, keyed: bool) -> None:
    def fails(self: Any, *_: Any) -> None:
        raise OSError("no connection")

    function = type("Enrich", (ps.MapFunction,), {method: fails, "map": lambda self, v: v})()
    env = ps.StreamExecutionEnvironment()
    stream: Any = env.from_source(PushSource())
    harness = Harness(env)
    harness.collect((stream.key_by(lambda v: v) if keyed else stream).map(function))
    with pytest.raises(UserFunctionError, match=rf"Operator 'map'.* raised OSError: no connection at {FILE}"):  # noqa: PT012
        harness.push(1)
        harness.close()


class Flaky(Source):
    """Reads some elements, then its file is missing."""

    bounded = True

    def splits(self, offset: Any) -> list[str]:
        return ["file"]

    def initial(self) -> Any:
        return {"n": 0}

    def latest(self, start: Any) -> Any:
        return {"n": 1}

    def ended(self, offset: Any) -> list[str]:
        return ["file"] if offset["n"] else []

    def plan(self, start: Any, end: Any, parallelism: int) -> list[Any]:
        return [0] if end["n"] > start["n"] else []

    def read(self, task: Any) -> Iterator[Chunk]:
        yield Chunk("file", 0, [1, 2])
        raise FileNotFoundError("orders.csv")


def test_an_error_of_a_source() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(Flaky(), source_name="orders"))
    with pytest.raises(
        UserFunctionError, match=rf"SOURCE_FAILED\] Source 'orders'.*FileNotFoundError: orders.csv at {FILE}"
    ):
        harness.run()


def test_an_error_of_a_sink_names_its_element() -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_source(PushSource()).sink_to(CallableSink(boom)).name("alerts")
    harness = Harness(env, real_sinks=True)
    with pytest.raises(
        UserFunctionError,
        match=rf"SINK_FAILED\] Sink 'alerts' raised ValueError: unlucky at {FILE}:{LINE} in boom, element 13, batch 0",
    ):
        harness.push_all([1, 13, 2])


# -- Penstock errors inside a user function keep their code and get the location


class Opens(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        runtime_context.get_state(ps.ValueStateDescriptor("total")).value()

    def process_element(self, value: Any, ctx: Any) -> None:
        pass


class Twice(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        runtime_context.get_state(ps.ValueStateDescriptor("total", int))
        runtime_context.get_map_state(ps.MapStateDescriptor("total", str, int))

    def process_element(self, value: Any, ctx: Any) -> None:
        pass


class Late(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)


class Unkeyed(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(1000)


@pytest.mark.parametrize(
    ("build", "kind", "words"),
    [
        (lambda s: s.key_by(lambda v: v).process(Opens()), StateError, r"STATE_OUTSIDE_KEY.* in Opens\.open"),
        (lambda s: s.key_by(lambda v: v).process(Twice()), StateError, r"STATE_NAME_TWICE.*'total'.* in Twice\.open"),
        (
            lambda s: s.key_by(lambda v: v).process(Late()),
            TimeError,
            r"ELEMENT_WITHOUT_TIMESTAMP\] `ctx.timer_service\(\).register_event_time_timer\(ctx.timestamp\(\) \+ 1000\)`"
            r" needs a timestamp.*key 1, element 1, from source 'source', split '0', position 0",
        ),
        (lambda s: s.process(Unkeyed()), TimeError, r"TIMER_WITHOUT_KEY.* in Unkeyed\.process_element, element 1"),
        (
            lambda s: s.key_by(lambda v: {v: v}),
            InvalidKeyError,
            rf"KEY_UNHASHABLE.*{{1: 1}}.*'key_by'.*{FILE}:.*element 1",
        ),
        (lambda s: s.key_by(lambda v: None), InvalidKeyError, r"KEY_IS_NONE.*'key_by'.*element 1"),
        (lambda s: s.key_by(lambda v: object()), InvalidKeyError, r"KEY_TYPE.*'key_by'.*element 1"),
    ],
)
def test_penstock_errors_name_the_location(build: Any, kind: type[PenstockError], words: str) -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(build(env.from_source(PushSource())))
    with pytest.raises(kind, match=words):
        harness.push(1)


def test_an_error_for_a_timestamp_that_is_not_a_number_names_the_element() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: v.get("at"))
    harness.collect(env.from_source(PushSource()).assign_timestamps_and_watermarks(strategy))
    with pytest.raises(TimeError, match=r"TIMESTAMP_TYPE.*returned None.*element \{'on': 1\}.*position 1"):
        harness.push_all([At({"at": 1}, 0), {"on": 1}])
