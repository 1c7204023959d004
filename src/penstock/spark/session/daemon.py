"""Spark's worker daemon, with the modules of workers imported before it forks.

Spark forks one Python worker per task slot. Each would import pyarrow, pandas and this package, which takes about a second.
Here the daemon imports them once, and the workers share the memory.
"""

from __future__ import annotations

import gc
import importlib
import sys

# Modules that a worker needs before its first task. Other daemons fork only one process, which imports what it uses.
_PRELOADED = {
    "pyspark.worker": (
        "pyspark.sql.pandas.serializers",
        "pyspark.sql.streaming.stateful_processor_util",
        "pyspark.sql.worker.plan_data_source_read",
        "penstock.spark.query.processor",
        "penstock.spark.query.router",
        "penstock.spark.query.sources",
        "penstock.spark.query.control",
    )
}


def preload(worker_module: str) -> None:
    """Imports the modules of a worker. An import error is ignored, because the worker reports it better."""
    for name in _PRELOADED.get(worker_module, ()):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.collect()
    gc.freeze()  # a garbage collection that marks these objects would copy their memory pages into each worker


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload(sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker")
    manager()
