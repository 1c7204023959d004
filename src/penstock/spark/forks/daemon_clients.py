"""Ends the processes that only represent Spark's worker daemons, all but one.

The fork server does the work of Spark's daemons. Spark has started a process for each, and writes to its standard input when a
worker must be killed. One such process is enough for all daemons: here Spark's objects get it in place of their own, by Java's
reflection. If that is impossible, the processes remain.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.forks.fork_server import ForkServer

_log = logging.getLogger("penstock.spark")


class DaemonClients:
    """The daemons of a Spark session."""

    def __init__(self, session: SparkSession, server: ForkServer) -> None:
        self._jvm: Any = session._jvm
        self._server = server

    def watch(self) -> None:
        """Replaces processes whenever the fork server asks for it, in a thread that ends with the server."""
        threading.Thread(target=self._run, name="penstock-daemons", daemon=True).start()

    def _run(self) -> None:
        try:
            while (clients := self._server.receive_clients()) is not None:
                kept, *others = clients
                self._server.release_clients([kept, *self.replace(kept, others)])
            if self._server.has_died():
                self.forget()
        except Exception as error:  # the session has ended, or another version of Spark
            _log.debug("The processes of Spark's worker daemons remain: %s", error)

    def replace(self, kept: int, others: Sequence[int]) -> list[int]:
        """Sets another process for the daemons of some processes. Returns the ids of those that Spark no longer uses."""
        daemons: dict[int, tuple[Any, Any, Any]] = {}  # by process: factory, its field, Java's object of the process
        for factory in self._factories():
            field = self._field(factory, "daemon")
            if (process := field.get(factory)) is not None:
                daemons[int(process.pid())] = factory, field, process
        if kept not in daemons:
            return []
        replaced = [process for process in others if process in daemons]
        for process in replaced:
            factory, field, _ = daemons[process]
            field.set(factory, daemons[kept][2])
        return replaced

    def forget(self) -> None:
        """Makes Spark start new daemons, after the fork server has died.

        Otherwise it would try to kill the workers of each old connection, and fail because nobody reads the request.
        """
        for factory in self._factories():
            workers = self._field(factory, "idleWorkers").get(factory)
            while not workers.isEmpty():
                workers.dequeue().stop()
            self._field(factory, "daemon").set(factory, None)

    def _factories(self) -> Iterator[Any]:
        """Spark's objects that start daemons and keep connections to workers."""
        environment = self._jvm.org.apache.spark.SparkEnv.get()
        if environment is not None:
            factories = self._field(environment, "pythonWorkers").get(environment).values().iterator()
            while factories.hasNext():
                yield factories.next()

    @staticmethod
    def _field(target: Any, name: str) -> Any:
        """A field of a class of Scala. The compiler puts the name of the class before that of some fields."""
        for field in target.getClass().getDeclaredFields():
            if field.getName().split("$")[-1] == name:
                field.setAccessible(True)
                return field
        raise LookupError(f"{target.getClass().getName()} has no field {name}")
