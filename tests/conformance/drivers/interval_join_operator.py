"""An interval join with late elements of both sides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import JoinContext, OutputTag, ProcessJoinFunction
from tests.conformance.case import Case, NotRunnableError
from tests.conformance.compare import check as check_entries
from tests.conformance.feed import batches_of
from tests.conformance.job import MAIN, BatchResult, Job
from tests.conformance.joins import sources_of, with_values
from tests.conformance.registry import key_of

_SHOWN = {
    "left_ts": lambda left, right, ctx: ctx.get_left_timestamp(),
    "right_ts": lambda left, right, ctx: ctx.get_right_timestamp(),
    "left": lambda left, right, ctx: left,
    "right": lambda left, right, ctx: right,
    "ts": lambda left, right, ctx: ctx.get_timestamp(),
}


class Pairs(ProcessJoinFunction):
    """Emits the fields of each pair that the case specifies."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterable[Any]:
        yield [_SHOWN[name](left, right, ctx) for name in self._names]


def job(case: Case) -> Job:
    case = with_values(case)
    params, key = case.params, key_of(case)
    lower, upper = params["lower_ms"], params["upper_ms"]
    names = list((case.fields.get("schema") or {}).get("output") or ["left", "right"])
    if unknown := set(names) - set(_SHOWN):
        raise NotRunnableError(f"the output {sorted(unknown)} of a pair is not known")
    tags = tuple(case.side_outputs)

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        left, right = streams[0].key_by(key), streams[-1].key_by(key)
        joined = left.interval_join(right).between(lower, upper)
        if not params.get("lower_inclusive", True):
            joined = joined.lower_bound_exclusive()
        if not params.get("upper_inclusive", True):
            joined = joined.upper_bound_exclusive()
        for tag in tags:
            late = joined.side_output_left_late_data if "left" in tag else joined.side_output_right_late_data
            joined = late(OutputTag(tag))
        return joined.process(Pairs(names))

    return Job(build, batches_of(case), sources=sources_of(case), tags=tags)


def check(case: Case, results: list[BatchResult]) -> None:
    """Checks the pairs, and that each has the later one of its timestamps."""
    names = list((case.fields.get("schema") or {}).get("output") or ())
    if {"left_ts", "right_ts"} <= set(names):
        at = names.index("left_ts"), names.index("right_ts")
        outputs = [output for batch in results for output in batch.outputs[MAIN]]
        assert all(ts == max(value[i] for i in at) for value, ts in outputs)
    check_entries(case, results)
