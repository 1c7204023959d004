"""The fork server learns the task and the job of a call from its first bytes."""

from __future__ import annotations

import json
import pickle
import struct

import pytest

from penstock.spark.forks.call_header import IncompleteHeaderError, TaskHeader, read_job, read_task


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("!i", len(data)) + data


def task(description: str | None = "penstock-run\nbatch = 3", barrier: bool = False) -> bytes:
    properties = {} if description is None else {"spark.job.description": description}
    context = {"isBarrier": barrier, "taskAttemptId": 17, "localProperties": properties}
    return struct.pack("!i", 1) + text("3.11") + text(json.dumps(context))


def test_a_task_of_a_job() -> None:
    assert read_task(task() + b"more") == TaskHeader(partition=1, attempt=17, is_of_job=True)


@pytest.mark.parametrize("data", [task(None), task("a query of the user"), task(barrier=True)])
def test_other_tasks_are_not_of_a_job(data: bytes) -> None:
    assert not read_task(data).is_of_job


def test_each_part_of_a_header_is_incomplete() -> None:
    data = task()
    for size in range(len(data)):
        with pytest.raises(IncompleteHeaderError):
            read_task(data[:size])


class Options(dict[str, str]):
    """A data source keeps its options in a dictionary of its own."""


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("folder", ["/run", "/" + "x" * 300])
def test_the_folder_of_a_pickled_data_source(protocol: int, folder: str) -> None:
    data = pickle.dumps(("penstock.spark.query.sources", {"folder": folder, "source": "0"}), protocol)
    assert read_job(b"before" + data + b"after") == folder


def test_the_folder_among_plain_options() -> None:
    options = text("folder") + text("/runs/ü") + text("source") + text("0")
    assert read_job(b"cpenstock.spark.query.control\nX" + options) == "/runs/ü"


@pytest.mark.parametrize(
    "data",
    [
        text("folder") + text("/run"),  # a data source of the user
        b"penstock.spark.query.sources" + text("path") + text("/run"),
        b"penstock.spark.query.sources" + text("folder") + text("/run")[:-1],
    ],
)
def test_no_folder_of_a_job(data: bytes) -> None:
    assert read_job(data) is None
