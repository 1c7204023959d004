"""Tests that every source must pass, for built-in and for user-defined sources."""

from __future__ import annotations

import json
import pickle
import shutil
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple
from unittest import SkipTest

from penstock.connectors.source import Chunk, Offset, ReadContext, Source
from penstock.engine.program.pickling import pickle_by_value

_TIMEOUT = 5.0


class ReadElement(NamedTuple):
    """An element that was read."""

    split: str
    position: int
    value: str  # its repr, so that all elements can be compared
    timestamp: int | None


class SourceContract:
    """Tests of a source, run by pytest. Write a subclass with a name that starts with "Test".

    It implements `make_source`, which must return equal sources that read the same elements. There must be some elements, and
    their number must not change during a test. Set a small limit, so that a few batches are needed to read them.

    >>> from penstock.connectors import NumberSequenceSource
    >>> class TestNumbers(SourceContract):
    ...     def make_source(self):
    ...         return NumberSequenceSource(1, 5000, records_per_batch=1500)
    ...     def expected(self):
    ...         return range(1, 5001)
    """

    parallelisms: tuple[int, ...] = (1, 2, 3, 8)
    most_batches = 60  # that are needed to read all elements
    most_in_a_batch: int | None = None  # elements; None to skip the check
    can_pause = True  # False if the source does not support watermark alignment

    # -- to be implemented

    def make_source(self) -> Source:
        """Returns a new source over the elements of the test."""
        raise NotImplementedError

    def expected(self) -> Iterable[Any] | None:
        """Returns the elements, in any order, or None to skip the comparison."""
        return None

    # -- the tests

    def test_every_element_is_read_once(self) -> None:
        """Positions of a split are unique and ascending."""
        read = self._read_all()
        assert read, "The source has no elements. The contract needs some."
        last: dict[str, int] = {}
        for element in read:
            before = last.get(element.split)
            assert before is None or element.position > before, (
                f"Split {element.split!r} has position {element.position} after {before}. Positions of a split must ascend over "
                "all tasks of a batch, in the order of `plan`, and over all batches."
            )
            last[element.split] = element.position
        expected = self.expected()
        if expected is not None:
            wanted, found = Counter(repr(e) for e in expected), Counter(e.value for e in read)
            assert found == wanted, f"Missing: {list(wanted - found)[:5]}. Unexpected: {list(found - wanted)[:5]}."

    def test_offsets_are_json(self) -> None:
        """Spark stores offsets as JSON."""
        for offset in self._driver().all_offsets():
            assert json.loads(json.dumps(offset)) == offset, (
                f"{offset!r} is not the same after conversion to JSON and back."
            )

    def test_parallelism_does_not_matter(self) -> None:
        """The elements of a batch do not depend on the number of its tasks."""
        one = sorted(self._read_all(1))
        for parallelism in self.parallelisms:
            assert sorted(self._read_all(parallelism)) == one, f"With parallelism {parallelism} the elements differ."

    def test_a_batch_is_read_again_as_it_was(self) -> None:
        """After a failure, a new source plans and reads a batch again from the same offsets."""
        driver = self._driver()
        batches = [(start, end, driver.read(start, end)) for start, end in driver.ranges()]
        again = self._driver(driver.folder)
        for start, end, read in batches:
            assert again.read(start, end) == read, f"From {start} to {end} the elements differ the second time."

    def test_batches_can_be_cut_otherwise(self) -> None:
        """A range of offsets has the same elements as the smaller ranges that it consists of."""
        driver = self._driver()
        ranges = driver.ranges()
        all_elements = driver.read(ranges[0][0], ranges[-1][1])
        assert sorted(all_elements) == sorted(e for start, end in ranges for e in driver.read(start, end))

    def test_a_resumed_source_goes_on_where_it_was(self) -> None:
        """A new source that is attached to the same folder reads the remaining elements."""
        expected = self._read_all()
        driver = self._driver()
        ranges = driver.ranges()
        cut = len(ranges) // 2
        read = [e for start, end in ranges[:cut] for e in driver.read(start, end)]
        resumed = self._driver(driver.folder)
        start = ranges[cut][0] if cut < len(ranges) else ranges[-1][1]
        read += [e for low, high in resumed.ranges(start) for e in resumed.read(low, high)]
        assert read == expected

    def test_at_the_end_there_is_nothing_new(self) -> None:
        """At the end `latest` returns its argument, and that range is empty."""
        driver = self._driver()
        end = driver.ranges()[-1][1]
        assert driver.source.latest(end) == end
        assert driver.read(end, end) == []

    def test_a_batch_is_bounded(self) -> None:
        """A batch has a limited number of elements, and at least one while there are elements."""
        driver = self._driver()
        for start, end in driver.ranges():
            count = len(driver.read(start, end))
            if self.most_in_a_batch is not None:
                assert count <= self.most_in_a_batch, f"The batch from {start} to {end} has {count} elements."

    def test_ended_splits_stay_ended(self) -> None:
        """A split that has ended has no more elements. All splits of a bounded source end."""
        driver = self._driver()
        ended: set[str] = set()
        ranges = driver.ranges()
        for start, end in ranges:
            ended |= set(driver.source.ended(start))
            late = {e.split for e in driver.read(start, end)} & ended
            assert not late, f"Splits {late} had ended at {start}, but have elements after it."
            assert ended <= set(driver.source.ended(end)), f"Splits {ended} had ended, but not at {end}."
        if driver.source.bounded:
            end = ranges[-1][1]
            assert set(driver.source.splits(end)) <= set(driver.source.ended(end)), (
                "All splits of a bounded source must end."
            )

    def test_splits_that_wait_have_more(self) -> None:
        """A split in `waiting` holds event time back, so it must have elements after the offset."""
        driver = self._driver()
        ranges = driver.ranges()
        read = [{e.split for e in driver.read(start, end)} for start, end in ranges]
        known = [set(driver.source.splits(end)) for _, end in ranges]
        for number, (_, end) in enumerate(ranges):
            later = set().union(*read[number + 1 :])
            waiting = set(driver.source.waiting(end))
            assert not waiting or later, f"At {end} splits {waiting} are waiting, but no elements follow."
            assert waiting & known[number] <= later | (known[number] - set().union(*read)), (
                f"At {end} splits {waiting} are waiting, but only {later} have elements after it."
            )

    def test_paused_splits_stay_where_they_are(self) -> None:
        """`latest` must not advance splits that watermark alignment has paused."""
        if not self.can_pause:
            raise SkipTest("the source does not support watermark alignment")
        driver = self._driver()
        start, end = driver.ranges()[0]
        paused = frozenset(driver.source.splits(end))
        driver.source.configure(ReadContext(paused_splits=paused))
        assert driver.source.latest(start) == start, f"Splits {set(paused)} were paused, but the source advanced them."
        driver.source.configure(ReadContext())
        assert driver.next_offset(start) == end, "After the pause the source must continue."

    def test_source_and_tasks_travel(self) -> None:
        """Tasks are read in other processes, by a copy of the source that was never attached."""
        driver = self._driver()
        for start, end in driver.ranges():
            own = [chunk for task in driver.source.plan(start, end, 2) for chunk in driver.source.read(task)]
            local = [element for chunk in own for element in _to_elements(chunk)]
            assert driver.read(start, end) == local, "A pickled copy of the source must read the same elements."

    def test_chunks_fit_together(self) -> None:
        """Timestamps, positions and watermarks of a chunk match its values."""
        driver = self._driver()
        for start, end in driver.ranges():
            for chunk in driver.chunks(start, end, 2):
                count = len(chunk.values)
                assert chunk.timestamps is None or len(chunk.timestamps) == count
                assert chunk.positions is None or len(chunk.positions) == count
                indexes = [index for index, _ in chunk.marks]
                assert indexes == sorted(indexes)
                assert all(0 <= index <= count for index in indexes)

    # -- internal

    def _driver(self, folder: str | None = None) -> _SourceDriver:
        return _SourceDriver(self.make_source(), folder, self.most_batches)

    def _read_all(self, parallelism: int = 2) -> list[ReadElement]:
        driver = self._driver()
        return [e for start, end in driver.ranges() for e in driver.read(start, end, parallelism)]


class _SourceDriver:
    """Calls a source as a job does: plans on the driver, reads on executors."""

    def __init__(self, source: Source, folder: str | None, most_batches: int) -> None:
        self._pickled = pickle_by_value(source)  # before it is attached, as in a job
        if folder is None:
            folder = tempfile.mkdtemp(prefix="penstock-contract-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        source.attach(folder)
        self.source = source
        self.folder = folder
        self._most_batches = most_batches

    def ranges(self, start: Offset | None = None) -> list[tuple[Offset, Offset]]:
        """Returns the offsets of all batches, until there are no new elements."""
        at: Offset = json.loads(json.dumps(self.source.initial() if start is None else start))
        batches: list[tuple[Offset, Offset]] = []
        while len(batches) < self._most_batches:
            end = json.loads(json.dumps(self.source.latest(at)))
            if end == at:
                return batches or [(at, at)]
            batches.append((at, end))
            at = end
        raise AssertionError(
            f"The source still has elements after {self._most_batches} batches. Use fewer elements, or raise most_batches."
        )

    def next_offset(self, start: Offset) -> Offset:
        """Returns the offset after the next batch. It waits, because a source may ask its server only at intervals."""
        deadline = time.monotonic() + _TIMEOUT
        while (end := self.source.latest(start)) == start and time.monotonic() < deadline:
            time.sleep(0.02)
        return end

    def all_offsets(self) -> list[Offset]:
        start = self.source.initial()
        offsets = [start]
        while (end := self.source.latest(start)) != start:
            offsets.append(end)
            start = end
        return offsets

    def chunks(self, start: Offset, end: Offset, parallelism: int) -> list[Chunk]:
        reader: Source = pickle.loads(self._pickled)
        tasks = [pickle.loads(pickle.dumps(task)) for task in self.source.plan(start, end, parallelism)]
        return [chunk for task in tasks for chunk in reader.read(task)]

    def read(self, start: Offset, end: Offset, parallelism: int = 2) -> list[ReadElement]:
        return [element for chunk in self.chunks(start, end, parallelism) for element in _to_elements(chunk)]


def _to_elements(chunk: Chunk) -> list[ReadElement]:
    positions = range(chunk.start, chunk.start + len(chunk.values)) if chunk.positions is None else chunk.positions
    stamps: Iterable[int | None] = chunk.timestamps or [None] * len(chunk.values)
    rows = zip(positions, chunk.values, stamps, strict=True)
    return [ReadElement(chunk.split, int(position), repr(value), stamp) for position, value, stamp in rows]
