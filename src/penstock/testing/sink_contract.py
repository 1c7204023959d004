"""What every sink must keep, as tests: for ours and for yours."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import uuid
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import SkipTest

import cloudpickle

from penstock.connectors.secret import secrets_may_travel
from penstock.connectors.sink import Sink, WriteTask


class SinkContract:
    """Tests of a sink. A subclass called Test... makes the sink and says what its readers see; pytest runs the rest.

    A sink that is not exactly once says so by the attributes, and the tests that it cannot pass are skipped.

    >>> from penstock.connectors import JsonLinesSink
    >>> class TestLines(SinkContract):
    ...     def make_sink(self, folder):
    ...         return JsonLinesSink(folder)
    ...     def visible(self, folder):
    ...         files = sorted(folder.glob("part-*.jsonl"))
    ...         return [int(line) for file in files for line in file.read_text().splitlines()]
    """

    hidden_until_commit = True  # False: readers see elements while a batch is written
    exactly_once = True  # False: a batch that runs again shows its elements again
    needs_same_tasks = (
        False  # True: a batch that runs again must have the same elements in the same tasks, as jobs give them
    )
    keeps_order = True  # False: the elements of one task are not seen in the order in which they were written

    # -- what you write

    def make_sink(self, folder: Path) -> Sink:
        """A sink that writes to a place in this folder, or to one that belongs to it."""
        raise NotImplementedError

    def visible(self, folder: Path) -> list[Any]:
        """What readers of that place see now."""
        raise NotImplementedError

    def element(self, number: int) -> Any:
        """An element that is written; another one for each number."""
        return number

    # -- the tests

    def test_committed_elements_are_visible(self) -> None:
        """Those of all tasks, once."""
        with _Place(self) as place:
            place.commit(0, place.written(0, [[1, 2], [3], [4, 5]]))
            place.shows(1, 2, 3, 4, 5)
            place.commit(1, place.written(1, [[6]]))
            place.shows(1, 2, 3, 4, 5, 6)

    def test_nothing_is_visible_before_the_commit(self) -> None:
        """Neither while a task writes nor when it is prepared."""
        self._only_if(self.hidden_until_commit, "readers see elements while a batch is written")
        with _Place(self) as place:
            writer = place.sink.writer(place.task(0, 0))
            writer.write([self.element(1)], [0], None)
            place.shows()
            message = writer.prepare()
            place.shows()
            place.commit(0, [message])
            place.shows(1)

    def test_an_aborted_task_leaves_nothing(self) -> None:
        """Its next attempt writes the same elements."""
        self._only_if(self.hidden_until_commit, "readers see elements while a batch is written")
        with _Place(self) as place:
            writer = place.sink.writer(place.task(0, 0))
            writer.write([self.element(1), self.element(2)], [0, 0], None)
            writer.abort()
            place.shows()
            place.commit(0, place.written(0, [[1, 2]], attempt="2"))
            place.shows(1, 2)

    def test_a_task_that_died_is_not_seen(self) -> None:
        """A worker was killed after it had prepared: only what the driver commits counts."""
        self._only_if(self.hidden_until_commit, "readers see elements while a batch is written")
        with _Place(self) as place:
            place.written(0, [[1, 2, 9]], attempt="1")
            writer = place.sink.writer(place.task(0, 0, "1b"))
            writer.write([self.element(1)], [0], None)
            place.commit(0, place.written(0, [[1, 2]], attempt="2"))
            place.shows(1, 2)
            writer.abort()
            place.shows(1, 2)

    def test_an_aborted_batch_leaves_nothing(self) -> None:
        """All its tasks had prepared; another one failed."""
        self._only_if(self.hidden_until_commit, "readers see elements while a batch is written")
        with _Place(self) as place:
            place.sink.abort(0, place.written(0, [[1], [2]]))
            place.shows()
            place.commit(0, place.written(0, [[1], [2]], attempt="2"))
            place.shows(1, 2)

    def test_a_batch_committed_twice_counts_once(self) -> None:
        """The driver does not know whether its first commit ended, and calls it again."""
        self._only_if(self.exactly_once, "a batch that runs again shows its elements again")
        with _Place(self) as place:
            prepared = place.written(0, [[1, 2], [3]])
            place.commit(0, prepared)
            place.commit(0, prepared)
            place.shows(1, 2, 3)

    def test_a_task_that_runs_again_counts_once(self) -> None:
        """Its first attempt was done, and its word was lost on the way to the driver."""
        self._only_if(self.exactly_once, "a batch that runs again shows its elements again")
        with _Place(self) as place:
            place.written(0, [[1, 2]])
            place.commit(0, place.written(0, [[1, 2]], attempt="2"))
            place.shows(1, 2)

    def test_a_batch_that_runs_again_counts_once(self) -> None:
        """The job died after the commit, before Spark noted it: resumed, it writes and commits the batch again, perhaps with
        its elements in other tasks."""
        self._only_if(self.exactly_once, "a batch that runs again shows its elements again")
        with _Place(self) as place:
            place.commit(0, place.written(0, [[0]]))
            place.commit(1, place.written(1, [[1, 2], [3], [4]]))
            place.resume()
            again = [[1, 2], [3], [4]] if self.needs_same_tasks else [[1], [2, 3, 4]]
            place.commit(1, place.written(1, again, attempt="2"))
            place.shows(0, 1, 2, 3, 4)
            place.commit(2, place.written(2, [[5]]))
            place.shows(0, 1, 2, 3, 4, 5)

    def test_a_restored_job_counts_its_batches_from_0_again(self) -> None:
        """It has a checkpoint of its own; what the first job wrote stays."""
        with _Place(self) as place:
            place.commit(0, place.written(0, [[1, 2]]))
            place.restore()
            place.commit(0, place.written(0, [[3, 4]]))
            place.shows(1, 2, 3, 4)

    def test_a_batch_without_elements(self) -> None:
        """Writers that wrote nothing, tasks that had no writer, and a commit of nothing."""
        with _Place(self) as place:
            place.commit(0, [])
            place.commit(1, place.written(1, [[], []]))
            place.shows()
            place.commit(2, place.written(2, [[1], []]))
            place.shows(1)

    def test_order_within_a_task(self) -> None:
        """Elements of a task are seen in the order in which they were written."""
        self._only_if(self.keeps_order, "the sink keeps no order")
        with _Place(self) as place:
            place.commit(0, place.written(0, [list(range(50, 0, -1))]))
            assert self.visible(place.folder) == [self.element(n) for n in range(50, 0, -1)]

    # -- how they ask

    @staticmethod
    def _only_if(kept: bool, why: str) -> None:
        if not kept:
            raise SkipTest(why)


class _Place:
    """A sink at a place of its own, asked as a job does: writers on executors, commits on the driver."""

    def __init__(self, contract: SinkContract) -> None:
        self._contract = contract
        self.root = Path(tempfile.mkdtemp(prefix="penstock-contract-"))
        self.folder = self.root / "place"
        self.folder.mkdir()
        self.restore()

    def __enter__(self) -> _Place:
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def restore(self) -> None:
        """A new job, with a checkpoint of its own."""
        self._lineage = uuid.uuid4().hex
        self.resume()

    def resume(self) -> None:
        """A new run from the same checkpoint."""
        memory = self.root / self._lineage
        memory.mkdir(exist_ok=True)
        sink = self._contract.make_sink(self.folder)
        sink.attach(str(memory))
        with secrets_may_travel():
            self._pickled = cloudpickle.dumps(sink)
        self.sink: Sink = cloudpickle.loads(self._pickled)  # commits run in another process than attach

    def task(self, batch: int, partition: int, attempt: str = "1") -> WriteTask:
        return WriteTask(batch, partition, f"{attempt}.{partition}", self._lineage, "sink", 2)

    def written(self, batch: int, parts: list[list[int]], attempt: str = "1") -> list[Any]:
        """What tasks with these elements prepare; it travels to the driver."""
        prepared = []
        for partition, part in enumerate(parts):
            sink: Sink = cloudpickle.loads(self._pickled)
            writer = sink.writer(self.task(batch, partition, attempt))
            for number in part:
                writer.write([self._contract.element(number)], [number], None)
            message = writer.prepare()
            if message is not None:
                prepared.append(pickle.loads(pickle.dumps(message)))
        return prepared

    def commit(self, batch: int, prepared: list[Any]) -> None:
        self.sink.commit(batch, prepared)

    def shows(self, *numbers: int) -> None:
        seen = Counter(repr(e) for e in self._contract.visible(self.folder))
        wanted = Counter(repr(self._contract.element(n)) for n in numbers)
        assert seen == wanted, f"Readers miss {list(wanted - seen)[:5]} and see too much of {list(seen - wanted)[:5]}."
