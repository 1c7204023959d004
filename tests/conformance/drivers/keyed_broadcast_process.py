"""A keyed stream (input 1) connected with a broadcast stream (input 2), with a scripted function."""

from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from tests.conformance.case import Case
from tests.conformance.compare import check
from tests.conformance.feed import batches_of
from tests.conformance.job import Job
from tests.conformance.registry import key_of, script_of
from tests.conformance.scripted_functions import ScriptedKeyedBroadcast
from tests.conformance.statements import ENTRIES

__all__ = ["check", "job"]


def job(case: Case) -> Job:
    key, script = key_of(case), script_of(case)

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        keyed, rules = streams
        connected = keyed.key_by(key).connect(rules.broadcast(ENTRIES))
        result: DataStream[Any] = connected.process(ScriptedKeyedBroadcast(script))
        return result.set_parallelism(
            1
        )  # each subtask emits the output of the broadcast side, and Flink's test has one

    return Job(build, batches_of(case), sources=2, tags=tuple(case.side_outputs))
