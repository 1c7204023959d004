"""The distribution of elements to subtasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from penstock import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream import DataStream
from penstock.testing import Harness, PushSource


class WithSubtask(ProcessFunction):
    """Emits each element with its subtask."""

    def open(self, runtime_context: Any) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, self._index


class KeyedWithSubtask(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, self._index


def run(partition: Callable[[DataStream[Any]], DataStream[Any]], values: list[Any]) -> list[Any]:
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=4)
    out = harness.collect(partition(env.from_source(PushSource())))
    harness.push_all(values)
    return list(out)


def counts(out: list[Any]) -> dict[int, int]:
    return dict(Counter(subtask for _, subtask in out))


@pytest.mark.parametrize("method", ["rebalance", "rescale"])
def test_rebalance_is_round_robin(method: str) -> None:
    out = run(lambda stream: getattr(stream, method)().process(WithSubtask()), list(range(100)))
    assert counts(out) == {0: 25, 1: 25, 2: 25, 3: 25}


def test_rebalance_distributes_the_results_of_one_element() -> None:
    out = run(lambda stream: stream.flat_map(lambda v: [v] * 8).rebalance().process(WithSubtask()), [1])
    assert counts(out) == {0: 2, 1: 2, 2: 2, 3: 2}


def test_shuffle_is_uniform() -> None:
    out = run(lambda stream: stream.shuffle().process(WithSubtask()), list(range(1000)))
    assert all(200 < n < 300 for n in counts(out).values())


def test_a_key_has_one_subtask_and_keys_are_distributed() -> None:
    out = run(lambda stream: stream.key_by(lambda v: v % 200).process(KeyedWithSubtask()), list(range(1000)))
    by_key: dict[int, set[int]] = {}
    for value, subtask in out:
        by_key.setdefault(value % 200, set()).add(subtask)
    assert all(len(subtasks) == 1 for subtasks in by_key.values())
    assert all(30 < n < 70 for n in Counter(s for subtasks in by_key.values() for s in subtasks).values())


def test_an_operator_with_lower_parallelism_uses_the_first_subtasks() -> None:
    out = run(lambda stream: stream.key_by(lambda v: v).process(KeyedWithSubtask()).set_parallelism(2), list(range(50)))
    assert set(counts(out)) == {0, 1}
    out = run(lambda stream: stream.rebalance().process(WithSubtask()).set_parallelism(3), list(range(30)))
    assert counts(out) == {0: 10, 1: 10, 2: 10}


def next_number(one: Any, other: Any) -> Any:
    assert other[1] == one[1] + 1
    return other


def test_the_results_of_one_element_keep_their_order() -> None:
    def each(value: str) -> list[Any]:
        return [(value, number) for number in range(5)]

    out = run(lambda stream: stream.flat_map(each).key_by(lambda v: v[0]).reduce(next_number), ["a", "b", "c"])
    assert out == [(value, number) for value in "abc" for number in range(5)]


@pytest.mark.parametrize("on_error", ["fail", "dead_letter"])
def test_lists_and_sets_are_keys(on_error: Any) -> None:
    keys: list[Any] = [[1], {2, 3}, bytearray(b"b"), (1, [2]), "plain", [1]]
    out = run(
        lambda stream: stream.key_by(lambda v: keys[v], on_error=on_error).process(WithKey()), list(range(len(keys)))
    )
    assert dict(out) == {0: (1,), 1: frozenset({2, 3}), 2: b"b", 3: (1, (2,)), 4: "plain", 5: (1,)}


class WithKey(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.get_current_key()
