"""The same job in the harness and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from penstock.datastream import DataStream
from penstock.testing import Harness


def collect_on_both_engines(build: Callable[[ps.StreamExecutionEnvironment], DataStream[Any]]) -> list[Any]:
    """Returns the elements of a stream in the harness. Fails unless they are the same on Spark, in any order."""
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    stream = build(env)
    harness = Harness(env)
    expected = harness.collect(stream)
    harness.run()
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    found = list(build(env).execute_and_collect())
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    return list(expected)
