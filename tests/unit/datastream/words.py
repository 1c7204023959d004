"""A keyed stream of words with numbers, and functions that add up the numbers."""

from __future__ import annotations

import penstock as ps
from penstock.datastream import DataStream
from penstock.testing import PushSource

Word = tuple[str, int]


def words() -> DataStream[Word]:
    return ps.StreamExecutionEnvironment().set_parallelism(2).from_source(PushSource())


def keyed() -> ps.KeyedStream[Word, str]:
    return words().key_by(_key)


def _key(word: Word) -> str:
    return word[0]


def added(a: Word, b: Word) -> Word:
    return a[0], a[1] + b[1]


class Total(ps.AggregateFunction[Word, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Word, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b
