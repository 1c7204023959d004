"""The process of Spark's JVM on the driver's machine."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.jobs.registry.cpu_time import CpuTime, process_cpu_time

_LOWEST_PRIORITY = 19
_EXIT_SECONDS = 10.0  # the system closes the connections of a killed process before the process has ended


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


def await_lost_jvm(error: BaseException) -> int | None:
    """The exit code of the JVM if the connection to it was lost; None if it runs or the error has another reason."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is not None and _is_connection_lost(error):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EXIT_SECONDS)
    return jvm_exit_code()


def _is_connection_lost(error: BaseException | None) -> bool:
    """Whether an error, or one that it followed, is about the connection to the JVM. Other errors of py4j have subclasses."""
    while error is not None:
        if isinstance(error, Py4JNetworkError | ConnectionError) or type(error) is Py4JError:
            return True
        error = error.__cause__ or error.__context__
    return False


def log_connection_errors_quietly() -> None:
    """Makes py4j log lost and interrupted calls with its own logger, which prints only if the program configures logging.

    It logs them with `logging.exception`, which prints a stack trace and installs a handler for the whole program.
    """
    module: Any = java_gateway
    module.logging = logging.getLogger(java_gateway.__name__)


def lower_jvm_priority() -> None:
    """Sets the lowest priority for all threads of the JVM that this process has started. Only on Linux."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is None or process.poll() is not None:
        return
    for thread in Path(f"/proc/{process.pid}/task").glob("*"):
        with suppress(OSError):  # it has ended
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _LOWEST_PRIORITY)


def jvm_cpu_time(session: SparkSession) -> CpuTime:
    """The CPU time of all threads of the JVM."""
    jvm: Any = session._jvm
    return process_cpu_time(int(jvm.java.lang.ProcessHandle.current().pid()))
