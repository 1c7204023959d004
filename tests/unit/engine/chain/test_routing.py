"""How evenly elements are spread, and what stays together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from penstock import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream import DataStream
from penstock.testing import Harness, PushSource


class Where(ProcessFunction):
    """Says in which subtask an element is."""

    def open(self, runtime_context: Any) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, self._index


class KeyedWhere(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, self._index


def spread(how: Callable[[DataStream[Any]], DataStream[Any]], values: list[Any]) -> list[Any]:
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=4)
    out = harness.collect(how(env.from_source(PushSource())))
    harness.push_all(values)
    return list(out)


def counts(out: list[Any]) -> dict[int, int]:
    return dict(Counter(place for _, place in out))


@pytest.mark.parametrize("method", ["rebalance", "rescale"])
def test_elements_are_dealt_out_in_turn(method: str) -> None:
    out = spread(lambda stream: getattr(stream, method)().process(Where()), list(range(100)))
    assert counts(out) == {0: 25, 1: 25, 2: 25, 3: 25}


def test_elements_made_of_one_element_are_dealt_out_too() -> None:
    out = spread(lambda stream: stream.flat_map(lambda v: [v] * 8).rebalance().process(Where()), [1])
    assert counts(out) == {0: 2, 1: 2, 2: 2, 3: 2}


def test_shuffle_gives_each_subtask_its_share() -> None:
    out = spread(lambda stream: stream.shuffle().process(Where()), list(range(1000)))
    assert all(200 < n < 300 for n in counts(out).values())


def test_a_key_has_one_place_and_keys_are_spread() -> None:
    out = spread(lambda stream: stream.key_by(lambda v: v % 200).process(KeyedWhere()), list(range(1000)))
    places: dict[int, set[int]] = {}
    for value, place in out:
        places.setdefault(value % 200, set()).add(place)
    assert all(len(found) == 1 for found in places.values())
    assert all(30 < n < 70 for n in Counter(p for found in places.values() for p in found).values())


def test_an_operator_with_less_parallelism_uses_the_first_subtasks() -> None:
    out = spread(lambda stream: stream.key_by(lambda v: v).process(KeyedWhere()).set_parallelism(2), list(range(50)))
    assert set(counts(out)) == {0, 1}
    out = spread(lambda stream: stream.rebalance().process(Where()).set_parallelism(3), list(range(30)))
    assert counts(out) == {0: 10, 1: 10, 2: 10}


def later(one: Any, other: Any) -> Any:
    assert other[1] == one[1] + 1
    return other


def test_elements_made_of_one_element_stay_in_order() -> None:
    def each(value: str) -> list[Any]:
        return [(value, number) for number in range(5)]

    out = spread(lambda stream: stream.flat_map(each).key_by(lambda v: v[0]).reduce(later), ["a", "b", "c"])
    assert out == [(value, number) for value in "abc" for number in range(5)]
