"""Spark's worker daemon, with the modules of workers imported before it forks.

Spark forks one Python worker per task slot. Each would import pyarrow, pandas and this package, which takes about a second.
Here the daemon imports them once, and the workers share the memory.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence

# Modules that a worker needs before its first task. `fork_server.py` preloads those of other processes.
WORKER_MODULES = (
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_util",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pandas",
    "lmdb",
    "pyspark.sql.worker.plan_data_source_read",
    "penstock.spark.query.processor",
    "penstock.spark.query.router",
    "penstock.spark.query.sources",
    "penstock.spark.query.control",
)


def preload(modules: Sequence[str]) -> None:
    """Imports modules before a process forks. An import error is ignored, because the forked process reports it better."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.collect()
    gc.freeze()  # a garbage collection that marks these objects would copy their memory pages into each forked process


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload(WORKER_MODULES if sys.argv[1:] in ([], ["pyspark.worker"]) else ())
    manager()
