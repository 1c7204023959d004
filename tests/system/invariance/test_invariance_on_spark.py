"""Generated programs emit the same elements in each batch on Spark as in the harness, also after a rescale."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pyspark.sql import SparkSession

from tests.system.invariance import program as p
from tests.system.invariance.spark_execution import check_on_spark, combined
from tests.system.invariance.strategies import FIRST_CLOCK, inputs, runs, sources_and_promise, stages

JOBS = int(os.environ.get("PENSTOCK_INVARIANCE_SPARK_JOBS", "4"))
PROGRAMS_PER_JOB = 8

_STATES = (p.StateSpec("value", "dataclass"), p.StateSpec("list", "tuple"), p.StateSpec("map", "decimal", ttl=100))
_TIMERS = (p.TimerSpec("event", 10, 60), p.TimerSpec("processing", 45))
SELECTED = p.Program(
    (p.SourceSpec(("s0", "s1"), p.Bounded(2)),),
    (
        p.Stage(p.Map(1, 4)),
        p.Stage(p.Process(states=_STATES, timers=_TIMERS, side=True, fails=4)),
        p.Stage(p.Window(p.Sliding(10, 5), lateness=4, late_output=True), (1,)),
        p.Stage(p.Window(p.Tumbling(25), by=None, function="named"), (3,)),
        p.Stage(p.Match((p.PatternStep(), p.PatternStep(remainder=None)), within=30, timeouts=True, late_output=True)),
        p.Stage(p.IntervalJoin(-5, 5, late_output=True), (0, 1)),
        p.Stage(p.CoGroup(p.Session(8)), (0, 1)),
        p.Stage(p.Broadcast(states=_STATES[:1], apply=True), (1, 0)),
        p.Stage(p.Async()),
        p.Stage(p.Reduce("number"), (2,)),
    ),
    "batches",
)


def test_a_selected_program(spark: SparkSession, tmp_path: Path) -> None:
    items = tuple(
        p.Item("abc"[n % 3], n * 7 % 20, n * 5 - n % 4 * 3, f"s{n % 2}", clock=FIRST_CLOCK + n // 8 * 50)
        for n in range(24)
    )
    run = p.Run((8, 16), rescales=(p.Rescale(2, 3),), parallelism=2)
    check_on_spark(p.Example(SELECTED, items, (run,)), tmp_path)


@st.composite
def combined_examples(draw: Any) -> p.Example:
    """Several programs that read the same sources, as one job."""
    sources, promise = draw(sources_and_promise())
    several = [p.Program(sources, draw(stages(sources, promise, False)), promise) for _ in range(PROGRAMS_PER_JOB)]
    program = replace(combined(several), changes=draw(st.booleans()))
    items = draw(inputs(program, False, 30, smallest=12, ends=False))
    *_, run = draw(runs(program, items))
    return p.Example(program, items, (run,))


@pytest.mark.long
@settings(max_examples=JOBS, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None)
@given(example=combined_examples())
def test_generated_programs(spark: SparkSession, example: p.Example) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_on_spark(example, Path(folder))
