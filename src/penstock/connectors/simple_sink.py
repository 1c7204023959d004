"""A base for sinks of one's own: what a task writes where nobody sees it, and what makes a batch visible."""

from __future__ import annotations

from typing import Any

from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.records import Tags


class SimpleSink(Sink):
    """A sink that makes a batch visible in one step on the driver. Write one method, or three.

    Without a `write` of its own the elements themselves come to the driver: fine for small results. A task's elements are
    in memory until it has them all.

    >>> class Ledger(SimpleSink):
    ...     def publish(self, batch, written):
    ...         print(batch, [element for part in written for element in part])
    >>> sink = Ledger()
    >>> writer = sink.writer(WriteTask(0, 0, "1", "job", "ledger"))
    >>> writer.write([5, 7], None, None)
    >>> sink.commit(0, [writer.prepare()])
    job/ledger/0 [5, 7]
    """

    # -- what you write

    def write(self, elements: list[Any], task: WriteTask) -> Any:
        """Puts a task's elements where nobody sees them; what it gives reaches `publish`. Runs in tasks.

        Another attempt may run beside this one or after it: a name with `task.attempt` in it is this one's own.
        """
        return elements

    def publish(self, batch: str, written: list[Any]) -> None:
        """Makes visible what the tasks wrote. Runs on the driver, and again with the same batch when it is not known whether
        the first call ended: keep the batch's name with its elements, in one transaction. No other batch has this name."""
        raise NotImplementedError

    def discard(self, written: list[Any]) -> None:
        """Removes what tasks wrote, since the batch failed. Runs on the driver."""

    # -- what jobs ask

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
