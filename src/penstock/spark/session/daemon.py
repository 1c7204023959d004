"""Spark's worker daemon, with what our workers import loaded before it forks.

Spark forks a Python worker per task slot, and each would import pyarrow, pandas and this package by itself: a second of work,
six times at a job's start. Here the daemon does it once and the forks share the memory.
"""

from __future__ import annotations

import gc
import importlib
import sys

# What the worker modules need before their first task; other daemons fork one process only and load what they use.
_PRELOADED = {
    "pyspark.worker": (
        "pyspark.sql.pandas.serializers",
        "pyspark.sql.streaming.stateful_processor_util",
        "pyspark.sql.worker.plan_data_source_read",
        "penstock.spark.processor",
        "penstock.spark.router",
        "penstock.spark.sources",
        "penstock.spark.control",
    )
}


def preload(worker_module: str) -> None:
    """Imports what a worker will import; what fails to import here fails again, and better told, in the worker."""
    for name in _PRELOADED.get(worker_module, ()):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.collect()
    gc.freeze()  # for the life of the forks: a collection that marks these objects would copy their pages


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload(sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker")
    manager()
