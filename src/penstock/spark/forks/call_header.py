"""The first bytes of a call of Spark: the task, or the job whose source or sink is called.

The fork server looks at them before it decides which process runs the call. It does not take them from the socket.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass

TASK_MODULE = "pyspark.worker"
LOOKUP_MODULE = "pyspark.sql.worker.lookup_data_sources"
SOURCE_MODULE = "pyspark.sql.streaming.python_streaming_source_runner"
# Modules that Spark calls in the driver's machine for a data source.
PLANNER_MODULES = (
    LOOKUP_MODULE,
    SOURCE_MODULE,
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.sql.worker.python_streaming_sink_runner",
)
_OWN_CLASSES = b"penstock.spark.query"  # the module of a data source, which is pickled by its name
_QUERY_NAME = "penstock-"  # of the queries of jobs
# The option `folder` of a data source: pickled, or as a length and a text.
_PICKLED_FOLDER = re.compile(rb"\x8c\x06folder\x94?(?:\x8c(.)|X(....))", re.DOTALL)
_PLAIN_FOLDER = re.compile(rb"\x00\x00\x00\x06folder(....)", re.DOTALL)


class IncompleteHeaderError(Exception):
    """The bytes end before the header does."""


@dataclass(frozen=True)
class TaskHeader:
    """A task of Spark."""

    partition: int
    attempt: int  # unique in a Spark context
    is_of_job: bool  # a task of the query of a job, not of another query in the same session


def read_task(data: bytes) -> TaskHeader:
    """Reads the beginning of what Spark sends to a worker: partition, Python version, and the context of the task."""
    if len(data) < 4:
        raise IncompleteHeaderError
    (partition,) = struct.unpack_from("!i", data)
    _, position = _text(data, 4)
    context, _ = _text(data, position)
    found = json.loads(context)
    description = (found.get("localProperties") or {}).get("spark.job.description") or ""
    of_job = description.startswith(_QUERY_NAME) and not found.get("isBarrier")
    return TaskHeader(partition, int(found["taskAttemptId"]), of_job)


def read_job(data: bytes) -> str | None:
    """Returns the run folder of the job whose data source Spark calls; None if it is not the data source of a job.

    >>> read_job(b"..penstock.spark.query.sources..\\0\\0\\0\\x06folder\\0\\0\\0\\x04/run..")
    '/run'
    """
    if _OWN_CLASSES not in data:
        return None
    if (found := _PLAIN_FOLDER.search(data)) is not None:
        size = int.from_bytes(found[1])
    elif (found := _PICKLED_FOLDER.search(data)) is not None:
        size = int.from_bytes(found[1] if found[1] is not None else found[2], "little")
    else:
        return None
    folder = data[found.end() : found.end() + size]
    return folder.decode() if len(folder) == size else None


def _text(data: bytes, position: int) -> tuple[bytes, int]:
    """Returns a text that follows its length, and the position after it."""
    if len(data) < position + 4:
        raise IncompleteHeaderError
    (size,) = struct.unpack_from("!i", data, position)
    end = position + 4 + size
    if len(data) < end:
        raise IncompleteHeaderError
    return data[position + 4 : end], end
