"""The API of streams: settings, projections, unsupported methods, and wrong functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import CollectSink
from penstock.datastream import CloseableIterator, DataStream, KeyedStream
from penstock.errors import InvalidKeyError, PlanError, UnsupportedOperation
from penstock.testing import Harness


def numbers(*values: Any, parallelism: int = 2) -> DataStream[Any]:
    return ps.StreamExecutionEnvironment().set_parallelism(parallelism).from_collection(list(values) or [1, 2, 3])


def run(stream: DataStream[Any]) -> list[Any]:
    harness = Harness(stream.get_execution_environment())
    out = harness.collect(stream)
    harness.run()
    return list(out)


def test_projection_has_an_output_type() -> None:
    env = ps.StreamExecutionEnvironment()
    typed = env.from_collection([("a", 1, 2.0)], ps.Types.TUPLE([ps.Types.STRING(), ps.Types.INT(), ps.Types.DOUBLE()]))
    assert typed.project(2, 0).get_type() == ps.Types.TUPLE([ps.Types.DOUBLE(), ps.Types.STRING()])
    rows = env.from_collection([ps.Row(1, "a")], ps.Types.ROW([ps.Types.INT(), ps.Types.STRING()]))
    assert rows.project(1).get_type() == ps.Types.TUPLE([ps.Types.STRING()])

    def pair(value: tuple[str, int, float]) -> tuple[int, str]:
        return value[1], value[0]

    assert repr(typed.map(pair).project(1).get_type()) == "TupleTypeInfo(str)"
    assert not numbers(("a", 1)).project(0).get_type().declared
    with pytest.raises(PlanError, match=r"project\(0, 3\).*fields 0 to 2"):
        typed.project(0, 3)


def test_a_key_type_converts_and_checks_keys() -> None:
    class Key(ps.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_current_key()

    def keys(key_type: Any, *values: Any) -> list[Any]:
        return list(run(numbers(*values).key_by(lambda v: v, key_type).process(Key())))

    assert keys(ps.Types.DOUBLE(), 1, 2.5) == [1.0, 2.5]
    assert [type(k) for k in keys(ps.Types.DOUBLE(), 1)] == [float]
    assert keys(ps.Types.TUPLE([ps.Types.STRING(), ps.Types.INT()]), ["a", 1]) == [("a", 1)]  # a list becomes a key
    assert keys(str, "a") == ["a"]
    with pytest.raises(InvalidKeyError, match=r"KEY_MISFIT.*declared as INT.*'x'.*operator 'key_by'.*element 'x'"):
        keys(ps.Types.INT(), 1, "x")
    with pytest.raises(InvalidKeyError, match="KEY_IS_NONE"):
        keys(ps.Types.INT(), None)


def test_all_elements_under_one_key() -> None:
    class Count(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            yield ctx.get_current_key(), self.count.value()

    assert run(numbers("a", "b").key_by(ps.NullByteKeySelector()).process(Count())) == [(0, 1), (0, 2)]


def test_projection_returns_fields_in_the_order_of_the_indexes() -> None:
    assert run(numbers(("a", 1, True), ("b", 2, False)).project(2, 0)) == [(True, "a"), (False, "b")]
    assert run(numbers(("a", 1), ("b", 2)).project(1)) == [(1,), (2,)]


@pytest.mark.parametrize("indexes", [(), (-1,), ("name",)])
def test_projection_requires_positions(indexes: Any) -> None:
    with pytest.raises(PlanError, match="FIELD_POSITION"):
        numbers().project(*indexes)


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_settings_return_the_same_stream_and_are_in_the_plan() -> None:
    stream = numbers().map(str)
    settled = (
        stream.name("words")
        .uid("w")
        .set_description("what they mean")
        .set_parallelism(1)
        .start_new_chain()
        .disable_chaining()
        .slot_sharing_group("heavy")
        .set_buffer_timeout(10)
        .set_max_parallelism(128)
    )
    assert settled is stream
    assert (stream.get_name(), stream._node.uid, stream._node.description) == ("words", "w", "what they mean")
    assert sorted(run(stream)) == ["1", "2", "3"]


def test_a_stream_returns_the_settings_of_its_job() -> None:
    stream = numbers(parallelism=3)
    assert stream.get_execution_config().get_parallelism() == 3


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_sinks_have_settings_too() -> None:
    sink = numbers().sink_to(CollectSink()).name("out").uid("o").set_description("d").set_parallelism(1)
    sink.disable_chaining().slot_sharing_group("g")
    assert (sink._node.name, sink._node.uid, sink._node.description) == ("out", "o", "d")


def test_key_groups_belong_to_the_job() -> None:
    stream = numbers().map(str).name("text").set_max_parallelism(64)
    with pytest.raises(PlanError, match="'text' has max parallelism 64, but the job has 128"):
        run(stream)


class Subtask(ps.MapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.here = (
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
        )

    def map(self, value: Any) -> Any:
        return self.here


@pytest.mark.parametrize("behind", ["source", "operator"])
def test_a_function_that_must_not_be_parallel_has_one_subtask(behind: str) -> None:
    stream = numbers(*range(20), parallelism=3).rebalance()
    if behind == "operator":
        stream = stream.key_by(lambda n: n).map(lambda n: n)
    assert len(set(run(stream.map(Subtask())))) == 3
    stream = numbers(*range(20), parallelism=3)
    if behind == "operator":
        stream = stream.key_by(lambda n: n).map(lambda n: n)
    assert run(stream.map(Subtask()).force_non_parallel()) == [(0, 1)] * 20


def test_parallelism_of_a_function_can_be_set() -> None:
    assert set(run(numbers(*range(20), parallelism=3).map(Subtask()).set_parallelism(2))) == {(0, 2), (1, 2)}


def test_a_union_of_wide_and_narrow_streams_becomes_narrow() -> None:
    wide = numbers(*range(20), parallelism=3)
    narrow = wide.map(lambda n: n).set_parallelism(1)
    assert run(wide.union(narrow).map(Subtask()).set_parallelism(1)) == [(0, 1)] * 40


# -- keyed streams


SETTINGS: dict[str, Callable[[KeyedStream[Any]], object]] = {
    "name": lambda s: s.name("x"),
    "get_name": lambda s: s.get_name(),
    "uid": lambda s: s.uid("x"),
    "set_uid_hash": lambda s: s.set_uid_hash("x"),
    "set_parallelism": lambda s: s.set_parallelism(1),
    "set_max_parallelism": lambda s: s.set_max_parallelism(1),
    "force_non_parallel": lambda s: s.force_non_parallel(),
    "set_buffer_timeout": lambda s: s.set_buffer_timeout(1),
    "start_new_chain": lambda s: s.start_new_chain(),
    "disable_chaining": lambda s: s.disable_chaining(),
    "slot_sharing_group": lambda s: s.slot_sharing_group("x"),
    "cache": lambda s: s.cache(),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_keyed_stream_is_no_operator(setting: str) -> None:
    with pytest.raises(UnsupportedOperation, match=r"KEYED_STREAM_SETTING.*key_by is not an operator"):
        SETTINGS[setting](numbers().key_by(lambda n: n))


PARTITIONINGS: dict[str, Callable[[DataStream[Any]], object]] = {
    "shuffle": lambda s: s.shuffle(),
    "rescale": lambda s: s.rescale(),
    "rebalance": lambda s: s.rebalance(),
    "forward": lambda s: s.forward(),
    "global": lambda s: s.global_(),
    "broadcast": lambda s: s.broadcast(),
    "custom": lambda s: s.partition_custom(lambda key, n: 0, lambda n: n),
}


@pytest.mark.parametrize("kind", PARTITIONINGS)
def test_a_keyed_stream_cannot_be_repartitioned(kind: str) -> None:
    with pytest.raises(UnsupportedOperation, match="KEYED_PARTITIONING"):
        PARTITIONINGS[kind](numbers().key_by(lambda n: n))


def test_another_key_replaces_the_first() -> None:
    stream = numbers(("a", 1), ("b", 1)).key_by(lambda e: e[0]).key_by(lambda e: e[1])
    assert run(stream.reduce(lambda a, b: (a[0] + b[0], a[1]))) == [("a", 1), ("ab", 1)]
    assert sum(node.name == "key_by" for node in stream.get_execution_environment()._nodes) == 2


def test_keyed_streams_unite_project_and_end_like_others() -> None:
    keyed = numbers(("a", 1), ("b", 2)).key_by(lambda e: e[0])
    united = keyed.union(keyed.key_by(lambda e: e[1])).project(1)
    assert sorted(run(united)) == [(1,), (1,), (2,), (2,)]


# -- refusals


def test_unsupported_methods_raise_an_error_with_a_reason() -> None:
    with pytest.raises(UnsupportedOperation, match="does not keep elements"):
        numbers().cache()
    with pytest.raises(UnsupportedOperation, match="finds state by uid"):
        numbers().set_uid_hash("cafe")
    with pytest.raises(PlanError, match="BROADCAST_STATE"):
        numbers().broadcast(ps.ValueStateDescriptor("v"))  # type: ignore[call-overload]


WRONG: dict[str, tuple[Callable[[DataStream[Any]], object], str]] = {
    "map": (lambda s: s.map(3), r"map\(\) got a int; it takes a MapFunction or a plain function"),  # type: ignore[arg-type]
    "class": (lambda s: s.map(Subtask), r"map\(\) got the class Subtask; .*; create an object: map\(Subtask\(...\)\)"),  # type: ignore[arg-type]
    "kind": (lambda s: s.filter(Subtask()), r"filter\(\) got a Subtask; it takes a FilterFunction"),  # type: ignore[arg-type]
    "process": (lambda s: s.process(Subtask()), r"it takes a ProcessFunction; call key_by first"),  # type: ignore[arg-type]
    "lambda": (lambda s: s.process(lambda value: value), r"process\(\) got a function"),  # type: ignore[arg-type]
    "keyed": (lambda s: s.key_by(len).process(Subtask()), r"it takes a KeyedProcessFunction or a ProcessFunction"),  # type: ignore[arg-type]
    "reduce": (lambda s: s.key_by(len).reduce(None), r"reduce\(\) got a NoneType"),  # type: ignore[arg-type]
    "key_by": (lambda s: s.key_by("name"), r"key_by\(\) got a str"),  # type: ignore[arg-type]
    "co_map": (lambda s: s.connect(s).map(lambda a: a), r"it takes a CoMapFunction"),  # type: ignore[arg-type]
    "sink": (lambda s: s.add_sink("file"), r"add_sink\(\) got a str; it takes a plain function"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_a_function_of_the_wrong_class_raises_an_error(case: str) -> None:
    call, text = WRONG[case]
    with pytest.raises(PlanError, match=text):
        call(numbers())


# -- collecting


class FakeEngine:
    """Returns elements like a job, and records when it is stopped."""

    stopped = False
    names: tuple[str, ...] = ()

    def default_parallelism(self, configuration: object) -> int:
        return 1

    def collect(self, graph: Any, configuration: object, files: object) -> Iterator[int]:
        FakeEngine.names = (graph.name,)
        FakeEngine.stopped = False
        return self._elements()

    def _elements(self) -> Iterator[int]:
        try:
            yield from (1, 2, 3)
        finally:
            FakeEngine.stopped = True


def collecting() -> DataStream[Any]:
    configuration = ps.Configuration({"execution.engine": f"{__name__}:FakeEngine"})
    return ps.StreamExecutionEnvironment(configuration).from_collection([1, 2, 3])


def test_collected_elements_are_iterated_and_closing_ends_the_job() -> None:
    with collecting().execute_and_collect("mine") as found:
        assert isinstance(found, CloseableIterator)
        assert (found.next(), next(found)) == (1, 2)
        assert not FakeEngine.stopped
    assert FakeEngine.stopped
    assert FakeEngine.names == ("mine",)
    with pytest.raises(StopIteration):
        found.next()
    found.close()


def test_a_limit_returns_a_list_and_ends_the_job() -> None:
    assert collecting().execute_and_collect(limit=2) == [1, 2]
    assert FakeEngine.stopped
    assert collecting().execute_and_collect("named", 5) == [1, 2, 3]
