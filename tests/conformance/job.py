"""The job of a case and the results of its batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors import CollectSink, ScriptedSource, Step
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import OutputTag, ProcessContext, ProcessFunction

OPERATOR, MAIN = "case", "main"  # uids
SPLIT = "0"

Build = Callable[[StreamExecutionEnvironment, list[DataStream[Any]]], DataStream[Any]]


def side(tag: str) -> str:
    """Returns the uid of the sink of a side output."""
    return f"side {tag}"


class WithTimestamp(ProcessFunction):
    """Adds the timestamps to the elements."""

    def process_element(self, value: Any, ctx: ProcessContext) -> Iterable[Any]:
        yield [value, ctx.timestamp()]


@dataclass
class Batch:
    """The input of one batch: elements and watermarks per source, and a new processing time."""

    items: dict[int, list[Any]] = field(default_factory=dict)
    clock: int | None = None
    end: bool = False
    inputs: int = 0  # number of input entries of the case up to and including this batch
    restored: bool = False  # the job is restored from a checkpoint before this batch


@dataclass
class Job:
    """A pipeline with scripted sources and collecting sinks."""

    build: Build
    batches: list[Batch]
    sources: int = 1
    tags: tuple[str, ...] = ()
    operator: str | None = OPERATOR

    @property
    def sinks(self) -> list[str]:
        return [MAIN, *(side(tag) for tag in self.tags)]

    def env(self, parallelism: int, until: int | None = None) -> StreamExecutionEnvironment:
        """Returns the environment with the job. With `until`, only the first batches are read."""
        env = StreamExecutionEnvironment()
        env.set_parallelism(parallelism)
        streams = [
            env.from_source(
                ScriptedSource(self._steps(number, until), (SPLIT,), lockstep=number == 0), None, f"in{number}"
            )
            for number in range(self.sources)
        ]
        result = self.build(env, streams).uid(OPERATOR)
        result.process(WithTimestamp()).sink_to(CollectSink()).uid(MAIN)
        for tag in self.tags:
            result.get_side_output(OutputTag(tag)).process(WithTimestamp()).sink_to(CollectSink()).uid(side(tag))
        return env

    def _steps(self, source: int, until: int | None) -> list[Step]:
        batches = self.batches[:until]
        return [Step({SPLIT: b.items.get(source, [])}, clock=b.clock, end=b.end) for b in batches]


@dataclass
class BatchResult:
    """The results of one batch: elements with timestamps per sink, and the watermark of the operator."""

    outputs: dict[str, list[Any]]
    watermark: int
    inputs: int
