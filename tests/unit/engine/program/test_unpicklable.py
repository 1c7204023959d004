"""The error for functions that cannot be pickled names the variable."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import CallableSink
from penstock.engine.program.builder import build_program
from penstock.errors import PlanError
from penstock.spark.session.pickling import pickle_program
from penstock.spark.session.worker_setup import WorkerSetup
from penstock.testing import Harness, PushSource

LOCK = threading.Lock()
FILE = "tests/unit/engine/program/test_unpicklable.py"


class Client:
    def __init__(self) -> None:
        self.options = {"lock": [threading.Lock()]}


class Enrich(ps.KeyedProcessFunction):
    def __init__(self) -> None:
        self.client = Client()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def guarded(value: Any, lock: Any = None) -> Any:
    return value


def closure() -> Any:
    mine = threading.Lock()
    return lambda value: (mine, value)


def default() -> Any:
    return lambda value, lock=LOCK: value


CASES: list[tuple[Any, str]] = [
    (lambda s: s.map(closure()), rf"The lambda at {FILE}:\d+ of operator 'map' uses `mine`, a _thread.lock,"),
    (lambda s: s.key_by(closure()).map(guarded), rf"The lambda at {FILE}:\d+ of operator 'key_by' uses `mine`,"),
    (lambda s: s.key_by(guarded).map(closure()), rf"The lambda at {FILE}:\d+ of operator 'map' uses `mine`,"),
    (lambda s: s.map(default()), rf"The lambda at {FILE}:\d+ of operator 'map' uses `lock`, a _thread.lock"),
    (
        lambda s: s.filter(partial(guarded, lock=LOCK)),
        "The partial of operator 'filter' is given `lock`, a _thread.lock",
    ),
    (
        lambda s: s.key_by(guarded).process(Enrich()),
        rf"The Enrich at {FILE}:\d+ of operator 'process' has the attribute `client` has the attribute `options` "
        r"holds \['lock'\] holds \[0\], a _thread.lock",
    ),
    (lambda s: s.sink_to(CallableSink(closure())), r"of sink 'sink' .*uses `mine`, a _thread.lock"),
]


@pytest.mark.parametrize(("build_stream", "message"), CASES)
@pytest.mark.parametrize("engine", ["harness", "spark"])
def test_the_variable_is_named(build_stream: Any, message: str, engine: str) -> None:
    env = ps.StreamExecutionEnvironment()
    built = build_stream(env.from_source(PushSource()))
    if hasattr(built, "print"):
        built.print()
    with pytest.raises(PlanError, match=message) as raised:
        send(env, engine)
    assert raised.value.code == "UNPICKLABLE"
    assert "cannot pickle '_thread.lock' object" in raised.value.text
    assert "in open() of a function class" in raised.value.text


def send(env: ps.StreamExecutionEnvironment, engine: str) -> None:
    if engine == "spark":
        pickle_program(build_program(env.set_parallelism(1).graph()), WorkerSetup())
    else:
        Harness(env, real_sinks=True).push(1)
