"""A keyed stream (input 1) beside a broadcast one (input 2); the function is told in words."""

from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from tests.conformance.case import Case
from tests.conformance.compare import check
from tests.conformance.feed import batches_of
from tests.conformance.job import Job
from tests.conformance.registry import key_of, words_of
from tests.conformance.statements import ENTRIES
from tests.conformance.told_functions import ToldBroadcast

__all__ = ["check", "job"]


def job(case: Case) -> Job:
    key, words = key_of(case), words_of(case)

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        keyed, rules = streams
        connected = keyed.key_by(key).connect(rules.broadcast(ENTRIES))
        result: DataStream[Any] = connected.process(ToldBroadcast(words))
        return result

    return Job(build, batches_of(case), sources=2, tags=tuple(case.side_outputs))
