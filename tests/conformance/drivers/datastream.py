"""A program with windows, whose assigner, trigger, key and function are specified as text."""

from __future__ import annotations

import re
from typing import Any

from penstock.connectors import At, Mark
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import OutputTag
from tests.conformance.case import Case
from tests.conformance.compare import check
from tests.conformance.feed import batches_of
from tests.conformance.job import Batch, Job
from tests.conformance.registry import key_of
from tests.conformance.window_results import AllWindowResult, Part, Sum, WindowResult, first_key, parts_in, sum_of
from tests.conformance.windows import assigner_in, lengths_in, trigger_in

__all__ = ["check", "job"]


def job(case: Case) -> Job:
    params = case.params
    words, function = str(params["window"]), str(params["function"])
    assigner = assigner_in(words)
    trigger = trigger_in(params["trigger"]) if "trigger" in params else None
    whole = "window_all" in words or "not keyed" in words
    key = key_of(case) if "key" in params else _first
    reduces = function.startswith("reduce")
    parts: list[Part] = [first_key, Sum(1)] if reduces and "(" not in function else parts_in(function)
    lateness = _lateness(params.get("lateness", params.get("allowed_lateness", 0)))

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        windows: Any = streams[0].window_all(assigner) if whole else streams[0].key_by(key).window(assigner)
        if trigger is not None:
            windows.trigger(trigger)
        if lateness:
            windows.allowed_lateness(lateness)
        for tag in case.side_outputs:
            windows.side_output_late_data(OutputTag(tag))
        result: DataStream[Any]
        if reduces:
            result = windows.reduce(sum_of)
        else:
            result = windows.process((AllWindowResult if whole else WindowResult)(parts))
        return result

    return Job(build, _batches(case), tags=tuple(case.side_outputs))


def _batches(case: Case) -> list[Batch]:
    """Returns the batches, with a watermark after each element if the case specifies it."""
    batches = batches_of(case)
    if re.search(r"(per|each|every) (element|record)", str(case.params.get("watermark", ""))):
        for batch in batches:
            for items in batch.items.values():
                items += [Mark(i.timestamp) for i in items if isinstance(i, At)]
    return batches


def _lateness(spec: Any) -> int:
    return spec if isinstance(spec, int) else lengths_in(str(spec))[0]


def _first(element: Any) -> Any:
    return element[0]
