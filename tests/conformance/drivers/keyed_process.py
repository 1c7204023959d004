"""A scripted keyed process function."""

from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from tests.conformance.case import Case
from tests.conformance.compare import check
from tests.conformance.feed import batches_of
from tests.conformance.job import Job
from tests.conformance.registry import key_of, script_of
from tests.conformance.scripted_functions import ScriptedProcess

__all__ = ["check", "job"]


def job(case: Case) -> Job:
    key, script = key_of(case), script_of(case)

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        return streams[0].key_by(key).process(ScriptedProcess(script))

    return Job(build, batches_of(case), tags=tuple(case.side_outputs))
