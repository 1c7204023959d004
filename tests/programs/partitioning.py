"""Streams that show in which subtask each element was processed."""

from __future__ import annotations

import itertools
from typing import Any

import penstock as ps


class Where(ps.ProcessFunction):
    """Emits (element, subtask)."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, self.subtask


class WhereKeyed(ps.KeyedProcessFunction):
    """Emits (element, subtask) after key_by."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, self.subtask


def spread(env: ps.StreamExecutionEnvironment, kind: str, numbers: int = 300) -> ps.DataStream[Any]:
    """Numbers partitioned in one way."""
    stream = env.from_sequence(0, numbers - 1)
    if kind == "key":
        return stream.key_by(lambda n: n).process(WhereKeyed())
    if kind == "narrow":
        return stream.key_by(lambda n: n).process(WhereKeyed()).set_parallelism(1)
    if kind == "custom":
        return stream.partition_custom(lambda key, n: key % n, lambda n: n // 10).process(Where())
    moved = {
        "rebalance": stream.rebalance,
        "shuffle": stream.shuffle,
        "rescale": stream.rescale,
        "broadcast": stream.broadcast,
        "global": stream.global_,
        "forward": stream.forward,
    }[kind]()
    result: ps.DataStream[Any] = moved.process(Where())
    return result


def check(kind: str, found: list[tuple[int, int]], parallelism: int, numbers: int = 300) -> None:
    """Whether the elements are where this partitioning puts them."""
    every = sorted(range(numbers))
    by_subtask = [sorted(n for n, s in found if s == subtask) for subtask in range(parallelism)]
    if kind == "broadcast":
        assert by_subtask == [every] * parallelism
        return
    assert sorted(n for n, _ in found) == every
    if kind in ("global", "narrow"):
        assert by_subtask[0] == every
    elif kind == "custom":
        assert all(s == n // 10 % parallelism for n, s in found)
    elif kind in ("rebalance", "rescale"):
        sizes = [len(part) for part in by_subtask]
        assert max(sizes) - min(sizes) <= 1
    elif kind in ("shuffle", "key"):
        assert all(len(part) > numbers // parallelism // 3 for part in by_subtask)
        if kind == "shuffle":
            assert any(b - a != parallelism for part in by_subtask for a, b in itertools.pairwise(part))


KINDS = ("key", "narrow", "rebalance", "shuffle", "rescale", "broadcast", "global", "custom", "forward")
