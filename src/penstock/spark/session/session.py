"""The Spark session that jobs run in."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import CONSOLE, JAR_BUNDLES, JVM_OPTIONS, MASTER, PYTHON_EXECUTABLE, RETAIN_BATCHES, Configuration
from penstock.errors import ConfigError
from penstock.jobs.log import process_log
from penstock.jobs.output import output_to
from penstock.jobs.registry import registry_of
from penstock.servers.jars import jars_of
from penstock.servers.java import check_java
from penstock.spark.home import fast_home
from penstock.spark.start_failure import start_error

_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# Fixed when the JVM starts.
_LAUNCH = {
    "spark.ui.enabled": "false",
    "spark.speculation": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "4g",
}

# May differ between jobs of one session.
_PER_JOB = {
    "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": _MANAGER,
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
}
# The time of a batch is a literal in its plan: Spark would generate and compile the same code anew for each, to hand on some rows.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


_usual_python: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # by SparkContext


def get_session(configuration: Configuration) -> SparkSession:
    """The active session, or a new one on the configured master."""
    refuse_connect()
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # a program that logs at INFO does not mean Spark's connections
    os.environ.setdefault("PYSPARK_PYTHON", configuration.get(PYTHON_EXECUTABLE) or sys.executable)
    builder = SparkSession.builder.appName("penstock")
    master = configuration.get(MASTER)
    if configuration.is_set(MASTER) or not _submitted():
        builder = builder.master(master)
    settings = dict(_LAUNCH)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Only here it is sure that the workers' Python has this package before a job ships its files.
        settings["spark.python.daemon.module"] = "penstock.spark.daemon"
    if extra := configuration.get(JVM_OPTIONS):
        settings["spark.driver.extraJavaOptions"] = extra
    settings |= configuration.spark
    if bundles := configuration.get(JAR_BUNDLES):
        jars = [str(file) for name in bundles for file in jars_of(name).files]
        settings["spark.jars"] = ",".join(filter(None, [settings.get("spark.jars", ""), *jars]))
    for key, value in settings.items():
        builder = builder.config(key, value)
    log = _log(configuration)
    try:
        with fast_home() if master.startswith("local") else nullcontext(), output_to(log):
            return builder.getOrCreate()
    except Exception as error:
        raise start_error(error, master, log) from error


def _log(configuration: Configuration) -> Path | None:
    """Where Spark writes; None: to the terminal, also when no log can be written."""
    if configuration.get(CONSOLE):
        return None
    try:
        log = process_log(registry_of(configuration).logs)
        log.touch()
    except OSError:
        return None
    return log


def _submitted() -> bool:
    """Whether spark-submit started this program and named a master."""
    return "spark.master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "") or bool(os.environ.get("PYSPARK_GATEWAY_PORT"))


def refuse_connect() -> None:
    """Spark Connect has no driver of ours to run the control source's supervisor beside."""
    if os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        raise ConfigError(
            "SPARK_CONNECT",
            "This process uses Spark Connect (SPARK_REMOTE is set). Penstock runs beside the driver and needs a classic session: "
            "unset SPARK_REMOTE and set spark.master, or submit the program to the cluster.",
        )


def prepare(session: SparkSession, configuration: Configuration, parallelism: int) -> None:
    """Sets what each job needs; changes nothing that other queries of the session have fixed when they started."""
    if session.conf.get("spark.speculation", "false") == "true":
        raise ConfigError(
            "SPECULATION",
            "spark.speculation is on: two attempts of one task would run functions twice. Start the session with it off.",
        )
    context = session.sparkContext
    usual = _usual_python.setdefault(context, context.pythonExec)
    chosen = configuration.get(PYTHON_EXECUTABLE)
    context.pythonExec = _runnable(chosen, context.master) if chosen else usual
    for key, value in _PER_JOB.items():
        session.conf.set(key, configuration.spark.get(key, value))
    session.conf.set("spark.sql.shuffle.partitions", str(parallelism))
    session.conf.set("spark.sql.streaming.minBatchesToRetain", str(configuration.get(RETAIN_BATCHES)))


@contextmanager
def interpreted(session: SparkSession, configuration: Configuration) -> Iterator[None]:
    """Queries that are started inside run without generated code: a query keeps the settings that it was started with."""
    before = {key: session.conf.get(key, None) for key in _INTERPRETED}
    for key, value in _INTERPRETED.items():
        session.conf.set(key, configuration.spark.get(key, value))
    try:
        yield
    finally:
        for key, was in before.items():
            if was is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, was)


def own_session(session: SparkSession) -> SparkSession:
    """A session with settings of its own on the same Spark; this thread's writers look up their formats in it."""
    own = session.newSession()
    make_active(own)
    return own


def make_active(session: SparkSession) -> None:
    """Writers of this thread look up their formats in this session, and in jars that were added to it.

    A thread may have inherited the session of another query, and does not know of jars that another thread has added.
    """
    jvm: Any = session._jvm
    jvm.java.lang.Thread.currentThread().setContextClassLoader(session._jsparkSession.sharedState().jarClassLoader())
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)


def _runnable(python: str, master: str | None) -> str:
    """The Python that runs functions; on a cluster only its nodes know whether it is there."""
    if master is not None and master.startswith("local") and shutil.which(python) is None:
        raise ConfigError(
            "PYTHON_EXECUTABLE", f"python.executable is '{python}', and no such program can be run. Correct the path."
        )
    return python


def cores_of(master: str) -> int:
    """The cores of a local master; for others the session's default is asked."""
    found = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\d+)?\])?", master)
    if found is None:
        return 0
    asked: Any = found.group(1)
    if asked is None:
        return 1
    return os.cpu_count() or 1 if asked == "*" else int(asked)
