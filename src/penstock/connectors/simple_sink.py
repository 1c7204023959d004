"""SimpleSink, a base class for user-defined sinks."""

from __future__ import annotations

from typing import Any

from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.loop.records import Tags


class SimpleSink(Sink):
    """Base class for user-defined sinks that publish a batch in one step on the driver.

    Implement `publish`, and optionally `write` and `discard`. Without `write`, the elements are sent to the driver, which is
    suitable for small results. The elements of a task are held in memory until the task has received all of them.

    >>> class Ledger(SimpleSink):
    ...     def publish(self, batch, written):
    ...         print(batch, [element for part in written for element in part])
    >>> sink = Ledger()
    >>> writer = sink.writer(WriteTask(0, 0, "1", "job", "ledger"))
    >>> writer.write([5, 7], None, None)
    >>> sink.commit(0, [writer.prepare()])
    job/ledger/0 [5, 7]
    """

    # -- methods for subclasses

    def write(self, elements: list[Any], task: WriteTask) -> Any:
        """Writes the elements of a task to a location where they are not visible yet. Runs in tasks.

        The result is passed to `publish`. Another attempt of the task may run at the same time or later, so use
        `task.attempt` in names to keep attempts apart.
        """
        return elements

    def publish(self, batch: str, written: list[Any]) -> None:
        """Makes the results of the tasks visible. Runs on the driver.

        It is called again for the same batch if it is unknown whether the first call finished. Store the name of the batch
        together with its elements in one transaction to detect this. Names of batches are unique.
        """
        raise NotImplementedError

    def discard(self, written: list[Any]) -> None:
        """Removes what the tasks of a failed batch wrote. Runs on the driver."""

    # -- called by the engine

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer(self, task)

    def commit(self, batch: int, prepared: list[Any]) -> None:
        if prepared:
            self.publish(prepared[0][0], [written for _, written in prepared])

    def abort(self, batch: int, prepared: list[Any]) -> None:
        self.discard([written for _, written in prepared])


class _Writer(SinkWriter):
    def __init__(self, sink: SimpleSink, task: WriteTask) -> None:
        self._sink = sink
        self._task = task
        self._elements: list[Any] = []
        self._written: list[Any] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        self._elements += values

    def prepare(self) -> Any:
        if not self._elements:
            return None
        task = self._task
        self._written = [self._sink.write(self._elements, task)]
        return f"{task.lineage}/{task.sink}/{task.batch}", self._written[0]

    def abort(self) -> None:
        if self._written:  # another sink of the task failed after this one was prepared
            self._sink.discard(self._written)
