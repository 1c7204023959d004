"""The process of Spark's JVM on the driver's machine."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from penstock.jobs.registry.cpu_time import CpuTime, process_cpu_time


def jvm_cpu_time(session: SparkSession) -> CpuTime:
    """The CPU time of all threads of the JVM."""
    jvm: Any = session._jvm
    return process_cpu_time(int(jvm.java.lang.ProcessHandle.current().pid()))
