"""The same job in the harness and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from penstock.datastream import DataStream
from penstock.testing import Harness


def same_on_spark(build: Callable[[ps.StreamExecutionEnvironment], DataStream[Any]]) -> list[Any]:
    """What a stream holds in the harness; fails unless it holds the same on Spark, in whatever order."""
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    stream = build(env)
    harness = Harness(env)
    expected = harness.collect(stream)
    harness.run()
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    found = list(build(env).execute_and_collect())
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    return list(expected)
