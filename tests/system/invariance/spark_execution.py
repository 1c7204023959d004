"""Runs programs on Spark, several of them as one job, and compares each batch with the harness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from penstock.connectors import At, CollectSink, ScriptedSource, Step
from penstock.functions import ProcessContext, ProcessFunction
from penstock.time import NO_TIMESTAMP
from tests.conformance.spark_run import run as run_on_spark
from tests.system.invariance.build import Built
from tests.system.invariance.execution import batches_of, record_of, run_in_harness
from tests.system.invariance.program import Example, Item, Program, Run, Stage


class WithTimestamp(ProcessFunction):
    """Adds the timestamps to the elements."""

    def process_element(self, value: Any, ctx: ProcessContext) -> Iterable[Any]:
        timestamp = ctx.timestamp()
        yield [record_of(At(value, NO_TIMESTAMP if timestamp is None else timestamp))]


def combined(programs: list[Program]) -> Program:
    """Returns one program with the stages of several programs, which read the same sources."""
    stages: list[Stage] = []
    sources = len(programs[0].sources)
    for program in programs:
        offset = len(stages)
        for stage in program.stages:
            inputs = tuple(i if i < sources else i + offset for i in stage.inputs)
            stages.append(msgspec.structs.replace(stage, inputs=inputs))
    return msgspec.structs.replace(programs[0], stages=tuple(stages))


def check_on_spark(example: Example, folder: Path) -> None:
    """Runs the last run of an example on Spark. A rescaled run starts a second job from the checkpoint of the first one."""
    *_, run = example.runs
    expected = run_in_harness(example.program, example.items, run)
    batches = batches_of(example.items, run)
    turns = [(0, run.parallelism), *((r.batch, r.parallelism) for r in run.rescales)]
    ends = [start for start, _ in turns[1:]] + [len(batches) + (not run.ends_with_input)]
    steps = _steps(example.program, batches, run)
    checkpoint = ""
    for (start, parallelism), end in zip(turns, ends, strict=True):
        if start == end:
            continue
        sources = [ScriptedSource(s[:end], example.program.sources[n].splits, n == 0) for n, s in enumerate(steps)]
        built = Built(example.program, sources)
        built.env.set_parallelism(parallelism)
        built.env.set_max_parallelism(8)
        for stream in built.outputs.values():
            stream.process(WithTimestamp()).sink_to(CollectSink())
        outputs, _, checkpoint = run_on_spark(built.env, folder, checkpoint)
        for number in range(start, end):
            for sink, name in enumerate(built.outputs):
                found = [record for [record] in outputs.get((number - start, sink), [])]
                in_harness = expected.batches[name][number]
                assert Counter(map(repr, found)) == Counter(map(repr, in_harness)), (
                    f"'{name}' differs in batch {number}:\n  harness {in_harness}\n  Spark {found}"
                )


def _steps(program: Program, batches: list[list[Item]], run: Run) -> list[list[Step]]:
    """Returns the script of each source. All control values are in the script of the first one."""
    steps: list[list[Step]] = [[] for _ in program.sources]
    for number, batch in enumerate(batches):
        last = run.ends_with_input and number == len(batches) - 1
        clock = batch[-1].clock if batch else None
        for source, script in enumerate(steps):
            splits: dict[str, list[Any]] = {}
            for item in batch:
                if item.source == source:
                    splits.setdefault(item.split, []).append(item.scripted(program.changes))
            script.append(Step(splits, clock=clock, end=last))
    if not run.ends_with_input:
        for script in steps:
            script.append(Step(end=True))
    return steps
