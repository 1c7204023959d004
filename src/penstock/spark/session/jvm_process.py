"""The process of Spark's JVM on the driver's machine."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.jobs.registry.cpu_time import CpuTime, process_cpu_time


def jvm_exit_code() -> int | None:
    """The exit code of the JVM that this process has started; None if it runs, or if another process has started it."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    code: int | None = None if process is None else process.poll()
    return code


def jvm_cpu_time(session: SparkSession) -> CpuTime:
    """The CPU time of all threads of the JVM."""
    jvm: Any = session._jvm
    return process_cpu_time(int(jvm.java.lang.ProcessHandle.current().pid()))
