"""What type checkers must know of named aggregates in windows; checked by mypy and pyright, and run as far as it builds plans."""

from __future__ import annotations

from typing import Any, assert_type

import penstock as ps
from penstock.functions import NamedAggregates, WindowResult, avg_of, count, sum_of
from penstock.windows import TumblingEventTimeWindows


def aggregates(env: ps.StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([("a", 1)])
    windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
    assert_type(windows.count(), ps.DataStream[WindowResult[str, int]])
    assert_type(windows.avg(1), ps.DataStream[WindowResult[str, float]])
    assert_type(windows.sum(1), ps.DataStream[tuple[str, int]])
    assert_type(windows.aggregates(n=count(), total=sum_of(1)), ps.DataStream[ps.Row])
    assert_type(windows.aggregate(count()), ps.DataStream[int])
    assert_type(windows.aggregate(avg_of(1)), ps.DataStream[float])
    assert_type(windows.aggregate(sum_of(1)), ps.DataStream[Any])
    assert_type(windows.aggregate(NamedAggregates(n=count())), ps.DataStream[ps.Row])
    assert_type(windows.count().map(lambda result: result.key), ps.DataStream[str])
