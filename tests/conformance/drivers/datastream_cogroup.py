"""A co-group of two streams with windows."""

from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from tests.conformance.case import Case
from tests.conformance.compare import check as check_entries
from tests.conformance.feed import batches_of
from tests.conformance.job import BatchResult, Job
from tests.conformance.joins import assigner_of, sources_of, with_settings, with_values
from tests.conformance.registry import key_of


def job(case: Case) -> Job:
    case = with_values(case)
    key, assigner = key_of(case), assigner_of(case)

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        windows = streams[0].co_group(streams[-1]).where(key).equal_to(key).window(assigner)
        result: DataStream[Any] = with_settings(windows, case).apply(_groups)
        return result

    return Job(build, batches_of(case), sources=sources_of(case))


def _groups(first: list[Any], second: list[Any]) -> list[Any]:
    return [[first, second]]


def check(case: Case, results: list[BatchResult]) -> None:
    check_entries(case, results)
