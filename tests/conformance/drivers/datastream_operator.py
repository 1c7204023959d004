"""A window operator on elements (key, number), whose windows, trigger, evictor and lateness are specified as fields."""

from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import OutputTag
from tests.conformance import compare
from tests.conformance.case import Case, NotRunnableError
from tests.conformance.feed import batches_of
from tests.conformance.job import BatchResult, Job
from tests.conformance.registry import key_of
from tests.conformance.window_results import NAMED, WindowResult, sum_of
from tests.conformance.windows import assigner_of, evictor_of, trigger_of

LATE = "late"


def job(case: Case) -> Job:
    params = case.params
    assigner, trigger = assigner_of(params["assigner"]), trigger_of(params.get("trigger"))
    evictor, result = evictor_of(params.get("evictor")), params.get("result", "key_sum")
    key = key_of(case) if "key" in params else _first
    if result not in NAMED:
        raise NotRunnableError(f"a result of kind {result!r} is not known")

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        windows = streams[0].key_by(key).window(assigner)
        if trigger is not None:
            windows.trigger(trigger)
        if evictor is not None:
            windows.evictor(evictor)
        if params.get("lateness") is not None:
            windows.allowed_lateness(params["lateness"])
        if LATE in _tags(case):
            windows.side_output_late_data(OutputTag(LATE))
        if result == "key_sum" and "apply" not in str(params.get("window_function")):
            return windows.reduce(sum_of)
        return windows.process(WindowResult(NAMED[result]))

    return Job(build, batches_of(case), tags=_tags(case))


def check(case: Case, results: list[BatchResult]) -> None:
    compare.check(case, results)
    if LATE in _tags(case) and not case.side_outputs:
        assert all(not batch.outputs[f"side {LATE}"] for batch in results), (
            "late elements that the case does not expect"
        )


def _tags(case: Case) -> tuple[str, ...]:
    return tuple(case.side_outputs) or ((LATE,) if case.params.get("late_side_output") else ())


def _first(element: Any) -> Any:
    return element[0]
