"""Keeps signals from ending the JVM before the driver process has stopped its jobs.

A terminal, systemd and `timeout` send signals to all processes of a group. The JVM would stop Spark immediately, and the running
batch would fail with errors of a stopped Spark. The JVM ends when the driver process closes its standard input, also if that
process is killed, so it needs no signals.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from pyspark.sql import SparkSession

_SIGNALS = ("TERM", "HUP")  # pyspark starts the JVM with SIGINT ignored
_log = logging.getLogger("penstock.spark")


def ignore_signals(session: SparkSession) -> None:
    """Makes the JVM of a session ignore the signals that end a process group.

    Not if the JVM has started this process (spark-submit): then signals for the application are sent to the JVM.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    try:
        jvm: Any = session._jvm
        handler = _no_operation(jvm)
        for name in _SIGNALS:
            jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal(name), handler)
    except Exception as error:  # a JVM without sun.misc.Signal, or with another handler: signals work as before
        _log.debug("The JVM does not ignore signals: %s", error)


def _no_operation(jvm: Any) -> Any:
    """A signal handler that does nothing.

    If the JVM ignored signals (SIG_IGN), the processes that it starts would ignore them, too.
    """
    java = jvm.java.lang
    signal, handler = (java.Class.forName(name) for name in ("sun.misc.Signal", "sun.misc.SignalHandler"))
    nothing = java.Void.TYPE
    method = java.invoke.MethodHandles.empty(java.invoke.MethodType.methodType(nothing, signal))
    return java.invoke.MethodHandleProxies.asInterfaceInstance(handler, method)
