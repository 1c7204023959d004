"""Tests that every sink must pass, for built-in and for user-defined sinks."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import uuid
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import SkipTest

from penstock.connectors.sink import Sink, WriteTask
from penstock.engine.program.pickling import pickle_by_value


class SinkContract:
    """Tests of a sink, run by pytest. Write a subclass with a name that starts with "Test".

    It implements `make_sink` and `visible`. If the sink has weaker guarantees, set the attributes, and the tests that it
    cannot pass are skipped.

    >>> from penstock.connectors import JsonLinesSink
    >>> class TestLines(SinkContract):
    ...     def make_sink(self, folder):
    ...         return JsonLinesSink(folder)
    ...     def visible(self, folder):
    ...         files = sorted(folder.glob("part-*.jsonl"))
    ...         return [int(line) for file in files for line in file.read_text().splitlines()]
    """

    hidden_until_commit = True  # False if readers see elements before the batch is committed
    exactly_once = True  # False if elements are visible twice when a batch runs again
    needs_same_tasks = (
        False  # True if a batch that runs again must have the same elements in the same tasks, as in a job
    )
    keeps_order = True  # False if readers do not see the elements of a task in the order in which they were written

    # -- to be implemented

    def make_sink(self, folder: Path) -> Sink:
        """Returns a sink that writes into this folder, or to a target that belongs to the folder."""
        raise NotImplementedError

    def visible(self, folder: Path) -> list[Any]:
        """Returns the elements that readers of the target see now."""
        raise NotImplementedError

    def element(self, number: int) -> Any:
        """Returns an element to write, a different one for each number."""
        return number

    # -- the tests

    def test_committed_elements_are_visible(self) -> None:
        """The elements of all tasks are visible once."""
        with _SinkDriver(self) as driver:
            driver.commit(0, driver.write(0, [[1, 2], [3], [4, 5]]))
            driver.assert_visible(1, 2, 3, 4, 5)
            driver.commit(1, driver.write(1, [[6]]))
            driver.assert_visible(1, 2, 3, 4, 5, 6)

    def test_nothing_is_visible_before_the_commit(self) -> None:
        """Elements are not visible while a task writes, nor after it has prepared its commit."""
        self._skip_unless(self.hidden_until_commit, "readers see elements before the batch is committed")
        with _SinkDriver(self) as driver:
            writer = driver.sink.writer(driver.task(0, 0))
            writer.write([self.element(1)], [0], None)
            driver.assert_visible()
            message = writer.prepare()
            driver.assert_visible()
            driver.commit(0, [message])
            driver.assert_visible(1)

    def test_an_aborted_task_leaves_nothing(self) -> None:
        """The next attempt of the task writes the same elements."""
        self._skip_unless(self.hidden_until_commit, "readers see elements before the batch is committed")
        with _SinkDriver(self) as driver:
            writer = driver.sink.writer(driver.task(0, 0))
            writer.write([self.element(1), self.element(2)], [0, 0], None)
            writer.abort()
            driver.assert_visible()
            driver.commit(0, driver.write(0, [[1, 2]], attempt="2"))
            driver.assert_visible(1, 2)

    def test_a_task_that_died_is_not_seen(self) -> None:
        """If a worker is killed after it has prepared, only what the driver commits is visible."""
        self._skip_unless(self.hidden_until_commit, "readers see elements before the batch is committed")
        with _SinkDriver(self) as driver:
            driver.write(0, [[1, 2, 9]], attempt="1")
            writer = driver.sink.writer(driver.task(0, 0, "1b"))
            writer.write([self.element(1)], [0], None)
            driver.commit(0, driver.write(0, [[1, 2]], attempt="2"))
            driver.assert_visible(1, 2)
            writer.abort()
            driver.assert_visible(1, 2)

    def test_an_aborted_batch_leaves_nothing(self) -> None:
        """Tasks have prepared their commits, and the batch fails."""
        self._skip_unless(self.hidden_until_commit, "readers see elements before the batch is committed")
        with _SinkDriver(self) as driver:
            driver.sink.abort(0, driver.write(0, [[1], [2]]))
            driver.assert_visible()
            driver.commit(0, driver.write(0, [[1], [2]], attempt="2"))
            driver.assert_visible(1, 2)

    def test_a_batch_committed_twice_counts_once(self) -> None:
        """The driver commits again if it does not know whether the first commit has ended."""
        self._skip_unless(self.exactly_once, "elements are visible twice when a batch runs again")
        with _SinkDriver(self) as driver:
            prepared = driver.write(0, [[1, 2], [3]])
            driver.commit(0, prepared)
            driver.commit(0, prepared)
            driver.assert_visible(1, 2, 3)

    def test_a_task_that_runs_again_counts_once(self) -> None:
        """The first attempt of the task succeeded, but its message did not reach the driver."""
        self._skip_unless(self.exactly_once, "elements are visible twice when a batch runs again")
        with _SinkDriver(self) as driver:
            driver.write(0, [[1, 2]])
            driver.commit(0, driver.write(0, [[1, 2]], attempt="2"))
            driver.assert_visible(1, 2)

    def test_a_batch_that_runs_again_counts_once(self) -> None:
        """The job was killed after the commit, before Spark recorded it. When resumed, it runs the batch again, and elements
        may be in other tasks."""
        self._skip_unless(self.exactly_once, "elements are visible twice when a batch runs again")
        with _SinkDriver(self) as driver:
            driver.commit(0, driver.write(0, [[0]]))
            driver.commit(1, driver.write(1, [[1, 2], [3], [4]]))
            driver.resume()
            again = [[1, 2], [3], [4]] if self.needs_same_tasks else [[1], [2, 3, 4]]
            driver.commit(1, driver.write(1, again, attempt="2"))
            driver.assert_visible(0, 1, 2, 3, 4)
            driver.commit(2, driver.write(2, [[5]]))
            driver.assert_visible(0, 1, 2, 3, 4, 5)

    def test_a_restored_job_counts_its_batches_from_0_again(self) -> None:
        """A restored job has a new checkpoint. The output of the first job stays."""
        with _SinkDriver(self) as driver:
            driver.commit(0, driver.write(0, [[1, 2]]))
            driver.restore()
            driver.commit(0, driver.write(0, [[3, 4]]))
            driver.assert_visible(1, 2, 3, 4)

    def test_a_batch_without_elements(self) -> None:
        """Tasks without elements, tasks without a writer, and an empty commit."""
        with _SinkDriver(self) as driver:
            driver.commit(0, [])
            driver.commit(1, driver.write(1, [[], []]))
            driver.assert_visible()
            driver.commit(2, driver.write(2, [[1], []]))
            driver.assert_visible(1)

    def test_order_within_a_task(self) -> None:
        """Readers see the elements of a task in the order in which they were written."""
        self._skip_unless(self.keeps_order, "the sink does not keep the order")
        with _SinkDriver(self) as driver:
            driver.commit(0, driver.write(0, [list(range(50, 0, -1))]))
            assert self.visible(driver.folder) == [self.element(n) for n in range(50, 0, -1)]

    # -- internal

    @staticmethod
    def _skip_unless(condition: bool, reason: str) -> None:
        if not condition:
            raise SkipTest(reason)


class _SinkDriver:
    """Calls a sink as a job does, with writers on executors and commits on the driver, in a folder of its own."""

    def __init__(self, contract: SinkContract) -> None:
        self._contract = contract
        self.root = Path(tempfile.mkdtemp(prefix="penstock-contract-"))
        self.folder = self.root / "target"
        self.folder.mkdir()
        self.restore()

    def __enter__(self) -> _SinkDriver:
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def restore(self) -> None:
        """Starts a new job with a new checkpoint."""
        self._lineage = uuid.uuid4().hex
        self.resume()

    def resume(self) -> None:
        """Starts a new run from the same checkpoint."""
        memory = self.root / self._lineage
        memory.mkdir(exist_ok=True)
        sink = self._contract.make_sink(self.folder)
        sink.attach(str(memory))
        self._pickled = pickle_by_value(sink)
        self.sink: Sink = pickle.loads(self._pickled)  # a copy, because commits run in another process than attach

    def task(self, batch: int, partition: int, attempt: str = "1") -> WriteTask:
        return WriteTask(batch, partition, f"{attempt}.{partition}", self._lineage, "sink", 2)

    def write(self, batch: int, parts: list[list[int]], attempt: str = "1") -> list[Any]:
        """Writes elements in tasks and returns the prepared commits, pickled as on the way to the driver."""
        prepared = []
        for partition, part in enumerate(parts):
            sink: Sink = pickle.loads(self._pickled)
            writer = sink.writer(self.task(batch, partition, attempt))
            for number in part:
                writer.write([self._contract.element(number)], [number], None)
            message = writer.prepare()
            if message is not None:
                prepared.append(pickle.loads(pickle.dumps(message)))
        return prepared

    def commit(self, batch: int, prepared: list[Any]) -> None:
        self.sink.commit(batch, prepared)

    def assert_visible(self, *numbers: int) -> None:
        seen = Counter(repr(e) for e in self._contract.visible(self.folder))
        expected = Counter(repr(self._contract.element(n)) for n in numbers)
        missing, unexpected = list(expected - seen)[:5], list(seen - expected)[:5]
        assert seen == expected, f"Readers do not see {missing}, and see {unexpected}, which they should not."
