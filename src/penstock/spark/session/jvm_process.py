"""The process of Spark's JVM on the driver's machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.jobs.registry.cpu_time import CpuTime, process_cpu_time


@contextmanager
def end_started_processes_on_interrupt() -> Iterator[None]:
    """Kills the processes that were started in the block, if it is interrupted.

    A JVM whose starting process is interrupted before they are connected does not always end. After an error it still runs,
    because the text of the error is read from it. Only on Linux.
    """
    before = _child_processes()
    try:
        yield
    except Exception:
        raise
    except BaseException:
        for process in _child_processes() - before:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise


def _child_processes() -> set[int]:
    found: set[int] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(map(int, file.read_text().split()))
    return found


def jvm_exit_code() -> int | None:
    """The exit code of the JVM that this process has started; None if it runs, or if another process has started it."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    code: int | None = None if process is None else process.poll()
    return code


def jvm_cpu_time(session: SparkSession) -> CpuTime:
    """The CPU time of all threads of the JVM."""
    jvm: Any = session._jvm
    return process_cpu_time(int(jvm.java.lang.ProcessHandle.current().pid()))
