"""What every source must keep, as tests: for ours and for yours."""

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

import cloudpickle

from penstock.connectors.secret import secrets_may_travel
from penstock.connectors.source import Chunk, Offset, Source

_PATIENCE = 5.0


class Read(NamedTuple):
    """One element as it was read."""

    split: str
    position: int
    value: str  # as text, so that any elements can be compared
    timestamp: int | None


class SourceContract:
    """Tests of a source. A subclass called Test... makes the source; pytest runs the rest.

    The source must have some elements, must not get more while a test runs, and should need a few batches to give them: set a
    small limit. Sources that `make_source` makes are of one kind and read the same.

    >>> from penstock.connectors import NumberSequenceSource
    >>> class TestNumbers(SourceContract):
    ...     def make_source(self):
    ...         return NumberSequenceSource(1, 5000, records_per_batch=1500)
    ...     def expected(self):
    ...         return range(1, 5001)
    """

    parallelisms: tuple[int, ...] = (1, 2, 3, 8)
    most_batches = 60
    most_in_a_batch: int | None = None  # elements; None: not looked at
    can_pause = True  # False: the source does not take part in watermark alignment

    # -- what you write

    def make_source(self) -> Source:
        """A source over the elements of the test."""
        raise NotImplementedError

    def expected(self) -> Iterable[Any] | None:
        """The elements, in any order; None: the test does not know them."""
        return None

    # -- the tests

    def test_every_element_is_read_once(self) -> None:
        """No position of a split comes twice, and positions ascend."""
        read = self._whole()
        assert read, "The source gave nothing: the contract needs some elements to look at."
        last: dict[str, int] = {}
        for element in read:
            before = last.get(element.split)
            assert before is None or element.position > before, (
                f"Split {element.split!r} gave position {element.position} after {before}: positions of a split must ascend, "
                "over all tasks of a batch in the order of `plan`, and over all batches."
            )
            last[element.split] = element.position
        expected = self.expected()
        if expected is not None:
            wanted, got = Counter(repr(e) for e in expected), Counter(e.value for e in read)
            assert got == wanted, f"Missing: {list(wanted - got)[:5]}. Too many: {list(got - wanted)[:5]}."

    def test_offsets_are_json(self) -> None:
        """Spark keeps offsets as JSON, and gives them back from there."""
        for offset in self._driver().all_offsets():
            assert json.loads(json.dumps(offset)) == offset, f"{offset!r} is not the same after a way through JSON."

    def test_parallelism_does_not_matter(self) -> None:
        """However many tasks share a batch, they read the same."""
        one = sorted(self._whole(1))
        for parallelism in self.parallelisms:
            assert sorted(self._whole(parallelism)) == one, f"With parallelism {parallelism} other elements are read."

    def test_a_batch_is_read_again_as_it_was(self) -> None:
        """After a failure a batch is planned and read again, by a source that was made anew, from the same offsets."""
        driver = self._driver()
        batches = [(start, end, driver.read(start, end)) for start, end in driver.ranges()]
        again = self._driver(driver.folder)
        for start, end, read in batches:
            assert again.read(start, end) == read, f"From {start} to {end} other elements were read the second time."

    def test_batches_can_be_cut_otherwise(self) -> None:
        """A range of offsets has the elements of the ranges that it is made of."""
        driver = self._driver()
        ranges = driver.ranges()
        whole = driver.read(ranges[0][0], ranges[-1][1])
        assert sorted(whole) == sorted(e for start, end in ranges for e in driver.read(start, end))

    def test_a_resumed_source_goes_on_where_it_was(self) -> None:
        """A source made anew and attached to the same folder reads the rest, nothing else."""
        whole = self._whole()
        driver = self._driver()
        ranges = driver.ranges()
        cut = len(ranges) // 2
        read = [e for start, end in ranges[:cut] for e in driver.read(start, end)]
        resumed = self._driver(driver.folder)
        start = ranges[cut][0] if cut < len(ranges) else ranges[-1][1]
        read += [e for low, high in resumed.ranges(start) for e in resumed.read(low, high)]
        assert read == whole

    def test_at_the_end_there_is_nothing_new(self) -> None:
        """`latest` gives the same offset then, and that reads nothing."""
        driver = self._driver()
        end = driver.ranges()[-1][1]
        assert driver.source.latest(end) == end
        assert driver.read(end, end) == []

    def test_a_batch_is_bounded(self) -> None:
        """`latest` admits a bounded amount, and always something while there is something."""
        driver = self._driver()
        for start, end in driver.ranges():
            count = len(driver.read(start, end))
            if self.most_in_a_batch is not None:
                assert count <= self.most_in_a_batch, f"The batch from {start} to {end} has {count} elements."

    def test_ended_splits_stay_ended(self) -> None:
        """A split that has ended gives nothing more; a bounded source ends with all its splits."""
        driver = self._driver()
        over: set[str] = set()
        ranges = driver.ranges()
        for start, end in ranges:
            over |= set(driver.source.ended(start))
            late = {e.split for e in driver.read(start, end)} & over
            assert not late, f"Splits {late} had ended by {start}, and gave elements after it."
            assert over <= set(driver.source.ended(end)), f"Splits {over} had ended, and at {end} they have not."
        if driver.source.bounded:
            end = ranges[-1][1]
            assert set(driver.source.splits(end)) <= set(driver.source.ended(end)), "A bounded source must end."

    def test_splits_that_wait_have_more(self) -> None:
        """A split in `waiting` holds event time back, so it must have elements after the offset."""
        driver = self._driver()
        ranges = driver.ranges()
        read = [{e.split for e in driver.read(start, end)} for start, end in ranges]
        known = [set(driver.source.splits(end)) for _, end in ranges]
        for number, (_, end) in enumerate(ranges):
            later = set().union(*read[number + 1 :])
            told = set(driver.source.waiting(end))
            assert not told or later, f"At {end} splits {told} wait, and nothing comes after it."
            assert told & known[number] <= later | (known[number] - set().union(*read)), (
                f"At {end} splits {told} wait, and only {later} come after it."
            )

    def test_paused_splits_stay_where_they_are(self) -> None:
        """Watermark alignment holds splits back: `latest` must not move them."""
        if not self.can_pause:
            raise SkipTest("the source takes no part in watermark alignment")
        driver = self._driver()
        start, end = driver.ranges()[0]
        held = frozenset(driver.source.splits(end))
        driver.source.paused = held
        assert driver.source.latest(start) == start, f"Splits {set(held)} were paused, and the source read on."
        driver.source.paused = frozenset()
        assert driver.next(start) == end, "After the pause the source must go on."

    def test_source_and_tasks_travel(self) -> None:
        """Tasks are read in other processes, by a copy of the source that nobody has attached, with nothing but the task."""
        driver = self._driver()
        for start, end in driver.ranges():
            own = [chunk for task in driver.source.plan(start, end, 2) for chunk in driver.source.read(task)]
            there = [element for chunk in own for element in _elements(chunk)]
            assert driver.read(start, end) == there, "A copy of the source must read what the source itself reads."

    def test_chunks_fit_together(self) -> None:
        """Timestamps, positions and watermarks of a chunk belong to its values."""
        driver = self._driver()
        for start, end in driver.ranges():
            for chunk in driver.chunks(start, end, 2):
                count = len(chunk.values)
                assert chunk.timestamps is None or len(chunk.timestamps) == count
                assert chunk.positions is None or len(chunk.positions) == count
                places = [place for place, _ in chunk.marks]
                assert places == sorted(places)
                assert all(0 <= place <= count for place in places)

    # -- how they ask

    def _driver(self, folder: str | None = None) -> _Driver:
        return _Driver(self.make_source(), folder, self.most_batches)

    def _whole(self, parallelism: int = 2) -> list[Read]:
        driver = self._driver()
        return [e for start, end in driver.ranges() for e in driver.read(start, end, parallelism)]


class _Driver:
    """Asks a source as the driver of a job does, and reads as its executors do."""

    def __init__(self, source: Source, folder: str | None, most_batches: int) -> None:
        with secrets_may_travel():
            self._pickled = cloudpickle.dumps(source)  # before it is attached, as a job does
        if folder is None:
            folder = tempfile.mkdtemp(prefix="penstock-contract-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        source.attach(folder)
        self.source = source
        self.folder = folder
        self._most = most_batches

    def ranges(self, start: Offset | None = None) -> list[tuple[Offset, Offset]]:
        """The batches until nothing is new."""
        at: Offset = json.loads(json.dumps(self.source.initial() if start is None else start))
        found: list[tuple[Offset, Offset]] = []
        while len(found) < self._most:
            end = json.loads(json.dumps(self.source.latest(at)))
            if end == at:
                return found or [(at, at)]
            found.append((at, end))
            at = end
        raise AssertionError(f"The source still has elements after {self._most} batches; give the test fewer.")

    def next(self, start: Offset) -> Offset:
        """The offset behind the next batch; a source that asks a server may do so only now and then."""
        deadline = time.monotonic() + _PATIENCE
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
        reader: Source = cloudpickle.loads(self._pickled)
        tasks = [pickle.loads(pickle.dumps(task)) for task in self.source.plan(start, end, parallelism)]
        return [chunk for task in tasks for chunk in reader.read(task)]

    def read(self, start: Offset, end: Offset, parallelism: int = 2) -> list[Read]:
        return [element for chunk in self.chunks(start, end, parallelism) for element in _elements(chunk)]


def _elements(chunk: Chunk) -> list[Read]:
    positions = range(chunk.start, chunk.start + len(chunk.values)) if chunk.positions is None else chunk.positions
    stamps: Iterable[int | None] = chunk.timestamps or [None] * len(chunk.values)
    rows = zip(positions, chunk.values, stamps, strict=True)
    return [Read(chunk.split, int(position), repr(value), stamp) for position, value, stamp in rows]
