"""The Spark session that jobs run in."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from penstock.config import Configuration
from penstock.config.deployment_options import (
    CLASS_ARCHIVE,
    CONSOLE,
    JAR_BUNDLES,
    JVM_OPTIONS,
    MASTER,
    PYTHON_EXECUTABLE,
    RETAIN_BATCHES,
)
from penstock.devservers.jars import get_jars
from penstock.devservers.java import check_java
from penstock.errors import ConfigError
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.run.log import process_log
from penstock.jobs.run.output import redirect_output
from penstock.spark.forks.daemon_clients import DaemonClients
from penstock.spark.forks.fork_server import ForkServer
from penstock.spark.session.class_archive import ClassArchive, find_archive, launch_options
from penstock.spark.session.jvm_process import (
    end_started_processes_on_interrupt,
    log_connection_errors_quietly,
    lower_jvm_priority,
)
from penstock.spark.session.jvm_signals import ignore_signals
from penstock.spark.session.local_directory import local_directory_settings
from penstock.spark.session.spark_home import linked_spark_home, spark_home
from penstock.spark.session.start_failure import start_error

_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# Settings that are fixed when the JVM starts.
_LAUNCH = {
    "spark.ui.enabled": "false",
    "spark.speculation": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "4g",
}

# Settings that may differ between jobs of one session.
_PER_JOB = {
    "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": _MANAGER,
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    # Workers of sources have this setting in their environment and those of state do not, so Spark would not share workers.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
# The time of a batch is a literal in its plan, so Spark would generate and compile code for each batch, which takes longer than
# to interpret the plan.
_WITHOUT_CODEGEN = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


_fork_servers: weakref.WeakKeyDictionary[Any, ForkServer] = weakref.WeakKeyDictionary()  # by SparkContext
_default_python: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # by SparkContext


def get_session(configuration: Configuration) -> SparkSession:
    """The active session, or a new one on the configured master."""
    refuse_spark_connect()
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # logging at INFO in a program does not concern py4j
    log_connection_errors_quietly()
    python = os.environ.setdefault("PYSPARK_PYTHON", configuration.get(PYTHON_EXECUTABLE) or sys.executable)
    builder = SparkSession.builder.appName("penstock")
    master = configuration.get(MASTER)
    if configuration.is_set(MASTER) or not _is_submitted():
        builder = builder.master(master)
    settings = dict(_LAUNCH)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= local_directory_settings()
        # Only workers of a local master have this package before a job ships its files.
        settings["spark.python.daemon.module"] = "penstock.spark.session.daemon"
        # They make batches faster, but the JVM remembers each socket file: see DeletionsAtExit.
        settings["spark.python.unix.domain.socket.enabled"] = "true"
    if extra := configuration.get(JVM_OPTIONS):
        settings["spark.driver.extraJavaOptions"] = extra
    settings |= configuration.spark
    if bundles := configuration.get(JAR_BUNDLES):
        jars = [str(file) for name in bundles for file in get_jars(name).files]
        settings["spark.jars"] = ",".join(filter(None, [settings.get("spark.jars", ""), *jars]))
    for key, value in settings.items():
        builder = builder.config(key, value)
    log = _log(configuration)
    try:
        with linked_spark_home() if master.startswith("local") else nullcontext(), redirect_output(log):
            server = _start_fork_server() if master.startswith("local") and python == sys.executable else None
            archive = _class_archive(configuration, settings, log is not None) if master.startswith("local") else None
            with _lookups_by(server), end_started_processes_on_interrupt():
                session = _launch(builder, archive)
    except Exception as error:
        raise start_error(error, master, log) from error
    if archive is not None and archive.is_written:
        atexit.register(lower_jvm_priority)
    ignore_signals(session)
    _ignore_closed_connections(session)
    if server is not None:
        session.sparkContext.pythonExec = server.executable
        _fork_servers[session.sparkContext] = server
        DaemonClients(session, server).watch()
    return session


def _ignore_closed_connections(session: SparkSession) -> None:
    """Keeps pyspark from printing a stack trace when Spark closes the connection for accumulators.

    It does so whenever a running query is cancelled, since an interrupted thread closes its Unix domain sockets.
    """

    def handle_error(request: Any, address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, (EOFError, OSError)):
            logging.getLogger("penstock.spark").error("pyspark could not read an accumulator", exc_info=error)

    server: Any = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = handle_error


def _start_fork_server() -> ForkServer | None:
    """Starts the process that forks Spark's Python processes, which imports their modules while the JVM starts."""
    try:
        server = ForkServer.start(sys.executable)
    except OSError:  # Spark starts interpreters then
        return None
    atexit.register(server.close)
    return server


@contextmanager
def _lookups_by(server: ForkServer | None) -> Iterator[None]:
    """The JVM that is launched in the block starts Python for lookups of data sources by the fork server, too."""
    name = "PYSPARK_DRIVER_PYTHON"
    if server is None or name in os.environ:
        yield
        return
    os.environ[name] = server.executable
    try:
        yield
    finally:
        del os.environ[name]


def _class_archive(configuration: Configuration, settings: Mapping[str, str], may_write: bool) -> ClassArchive | None:
    """The archive of classes for a JVM that this process launches."""
    home = spark_home()
    if home is None or not configuration.get(CLASS_ARCHIVE) or os.environ.get("PYSPARK_GATEWAY_PORT"):
        return None
    return find_archive(home, settings, may_write)


def _launch(builder: SparkSession.Builder, archive: ClassArchive | None) -> SparkSession:
    """Creates the session. If no JVM starts with the archive, it is created without it."""
    try:
        with launch_options(archive):
            return builder.getOrCreate()
    except PySparkRuntimeError:  # the JVM has ended before it could be used
        if archive is None or not archive.file.exists():
            raise
        archive.discard()
        with launch_options(None):
            return builder.getOrCreate()


def _log(configuration: Configuration) -> Path | None:
    """The file for Spark's output; None for the terminal, also if no file can be written."""
    if configuration.get(CONSOLE):
        return None
    try:
        log = process_log(registry_of(configuration).logs)
        log.touch()
    except OSError:
        return None
    return log


def _is_submitted() -> bool:
    """Whether spark-submit started this program with a master."""
    return "spark.master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "") or bool(os.environ.get("PYSPARK_GATEWAY_PORT"))


def refuse_spark_connect() -> None:
    """Raises an error in a process with Spark Connect, because Penstock runs in the driver process."""
    if os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        raise ConfigError(
            "SPARK_CONNECT",
            "This process uses Spark Connect (SPARK_REMOTE is set). Penstock runs in the driver process and needs a classic "
            "session. Unset SPARK_REMOTE and set spark.master, or submit the program to the cluster.",
        )


def configure_session(session: SparkSession, configuration: Configuration, parallelism: int) -> None:
    """Sets the options of a job. Running queries keep the options that they were started with."""
    if session.conf.get("spark.speculation", "false") == "true":
        raise ConfigError(
            "SPECULATION",
            "spark.speculation is enabled, so two attempts of a task could run functions twice. Start the session without it.",
        )
    context = session.sparkContext
    default = _default_python.setdefault(context, context.pythonExec)
    chosen = configuration.get(PYTHON_EXECUTABLE)
    context.pythonExec = _check_executable(chosen, context.master) if chosen else default
    for key, value in _PER_JOB.items():
        session.conf.set(key, configuration.spark.get(key, value))
    session.conf.set("spark.sql.shuffle.partitions", str(parallelism))
    session.conf.set("spark.sql.streaming.minBatchesToRetain", str(configuration.get(RETAIN_BATCHES)))


@contextmanager
def without_codegen(session: SparkSession, configuration: Configuration) -> Iterator[None]:
    """Disables code generation for queries that are started in the block."""
    before = {key: session.conf.get(key, None) for key in _WITHOUT_CODEGEN}
    for key, value in _WITHOUT_CODEGEN.items():
        session.conf.set(key, configuration.spark.get(key, value))
    try:
        yield
    finally:
        for key, old_value in before.items():
            if old_value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old_value)


def new_session(session: SparkSession) -> SparkSession:
    """A new session with its own settings on the same Spark, made active in this thread."""
    new = session.newSession()
    activate_session(new)
    return new


def activate_session(session: SparkSession) -> None:
    """Makes a session active in this thread. Writers look up their formats in the active session and in its jars.

    A thread may have inherited the session of another query, and does not see jars that another thread has added.
    """
    jvm: Any = session._jvm
    jvm.java.lang.Thread.currentThread().setContextClassLoader(session._jsparkSession.sharedState().jarClassLoader())
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)


def _check_executable(python: str, master: str | None) -> str:
    """Checks that the Python executable of workers exists. On a cluster only its nodes can check it."""
    if master is not None and master.startswith("local") and shutil.which(python) is None:
        raise ConfigError(
            "PYTHON_EXECUTABLE",
            f"python.executable is '{python}', which is not an executable program. Correct the path.",
        )
    return python


def local_cores(master: str) -> int:
    """The number of cores of a local master; 0 for other masters."""
    found = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\d+)?\])?", master)
    if found is None:
        return 0
    cores: Any = found.group(1)
    if cores is None:
        return 1
    return os.cpu_count() or 1 if cores == "*" else int(cores)
