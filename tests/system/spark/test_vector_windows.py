"""Windows of named aggregates on Spark: the same results as in the harness, also after resuming from a checkpoint."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import JsonLinesSink, ScriptedSource, Step
from penstock.connectors.scripted import Abort, At
from penstock.datastream import DataStream
from penstock.errors import PenstockError
from penstock.functions import count, max_of, sum_of
from penstock.testing import Harness
from penstock.windows import (
    ContinuousEventTimeTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

Sale = tuple[str, int]


def sales(first: int) -> list[Any]:
    """Elements of many keys, some of them late or out of order."""
    return [At((f"k{n % 23}", n), first + n // 4 - (n * 7) % 13) for n in range(400)]


def script(failing: bool) -> list[Step]:
    last = [*sales(250), *([Abort()] if failing else [])]
    return [Step({"s": sales(0), "t": sales(5)}), Step({"s": sales(120)}), Step({"t": last}, end=True)]


def everything(env: ps.StreamExecutionEnvironment, failing: bool = False) -> DataStream[Any]:
    """All kinds of columnar windows, in one stream."""
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(3)
    keyed = env.from_source(ScriptedSource(script(failing), known=("s", "t")), strategy).key_by(lambda sale: sale[0])
    tumbling = keyed.window(TumblingEventTimeWindows.of(10))
    streams: list[DataStream[Any]] = [
        tumbling.count(),
        keyed.window(SlidingEventTimeWindows.of(30, 10)).aggregates(n=count(), total=sum_of(1), most=max_of(1)),
        keyed.window(EventTimeSessionWindows.with_gap(2)).avg(1),
        tumbling.trigger(ContinuousEventTimeTrigger.of(4)).count(),
    ]
    first, *others = [stream.map(partial(numbered, number)) for number, stream in enumerate(streams)]
    return first.union(*others)


def numbered(number: int, value: Any) -> tuple[int, Any]:
    return number, value


def expected() -> list[Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(3)
    harness = Harness(env)
    out = harness.collect(everything(env))
    harness.run()
    assert {n for n, _ in out} == {0, 1, 2, 3}
    return sorted(out, key=repr)


@pytest.mark.spark
def test_windows_of_named_aggregates_on_spark() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    assert sorted(everything(env).execute_and_collect(), key=repr) == expected()


@pytest.mark.spark
def test_a_job_of_named_aggregates_is_resumed(tmp_path: Path) -> None:
    def run(resume: str = "") -> None:
        settings = {"execution.checkpointing.dir": str(tmp_path / "points"), "state.local.dir": str(tmp_path / "local")}
        configuration = ps.Configuration({**settings, **({"execution.resume": resume} if resume else {})})
        env = ps.StreamExecutionEnvironment(configuration).set_parallelism(2)
        everything(env, failing=True).map(repr).sink_to(JsonLinesSink(tmp_path / "out"))
        env.execute()

    with pytest.raises(PenstockError):
        run()
    checkpoint = next(p.parent.parent for p in tmp_path.glob("points/*/penstock/job.json"))
    run(str(checkpoint))
    files = [f for f in (tmp_path / "out").rglob("*.jsonl") if not f.name.startswith((".", "_"))]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(map(repr, expected()))
