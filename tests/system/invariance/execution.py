"""Runs programs in the harness."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.connectors import At
from penstock.connectors.source import Source
from penstock.functions import DeadLetter
from penstock.testing import Harness, PushSource
from tests.system.invariance.build import Built
from tests.system.invariance.changes import unchanged
from tests.system.invariance.program import Item, Program, Run
from tests.system.invariance.reading import reading_sources, write_files

_MOST_BATCHES = 1000
Record = tuple[Any, int]  # an element and its timestamp


@dataclass
class Outcome:
    """What a run emitted, by output and batch, and its counters."""

    batches: dict[str, list[list[Record]]] = field(default_factory=dict)
    counters: dict[str, Any] = field(default_factory=dict)

    def records(self, output: str) -> list[Record]:
        return [record for batch in self.batches[output] for record in batch]


def run_in_harness(program: Program, items: tuple[Item, ...], run: Run, folder: str = "") -> Outcome:
    """Runs a program. `run.cuts` must be possible (see `batches_of`).

    `folder` contains the files of the sources during the run. It must be the same for runs that are compared, because the names of
    splits decide between results of one record that come by different paths.
    """
    if program.reads:
        assert folder
        return _read_in_harness(program, items, run, Path(folder, "input"))
    running = _Running(program, run, run.parallelism)
    rescales = {rescale.batch: rescale.parallelism for rescale in run.rescales}
    batches = batches_of(items, run)
    for number, batch in enumerate(batches):
        if number in rescales:
            running = running.rescaled(rescales[number])
        elif number in run.restores:
            running.harness.restore(running.harness.snapshot())
        last = number == len(batches) - 1 and run.ends_with_input
        if number in run.crashes:
            running.crash(batch, last)
        running.run_batch(batch, last)
    if not run.ends_with_input:
        running.run_batch([], last=True)
    running.finish()
    return running.outcome


def _read_in_harness(program: Program, items: tuple[Item, ...], run: Run, folder: Path) -> Outcome:
    """Runs a program that reads its sources, batch by batch."""

    def sources() -> list[Source]:
        return reading_sources(program, items, run, folder)

    running = _Running(program, run, run.parallelism, sources=sources)
    rescales = {rescale.batch: rescale.parallelism for rescale in run.rescales}
    try:
        for number in range(_MOST_BATCHES):
            more_files = write_files(program, items, run, number, folder)
            if number in rescales:
                running = running.rescaled(rescales[number])
            elif number in run.restores:
                running.harness.restore(running.harness.snapshot())
            has_run = running.read_batch()
            if running.harness._ended:
                break
            if not has_run and not more_files:  # the sources are not bounded
                running.run_batch([], last=True)
                break
        else:
            raise AssertionError(f"the job has not ended after {_MOST_BATCHES} batches")
        running.finish()
    finally:
        shutil.rmtree(folder)
    return running.outcome


def batches_of(items: tuple[Item, ...], run: Run) -> list[list[Item]]:
    """Returns the items of each batch."""
    cuts = [0, *run.cuts, len(items)]
    return [list(items[start:end]) for start, end in pairwise(cuts)]


class CrashError(Exception):
    """Raised to fail a batch."""


class _Running:
    """A harness with its outputs."""

    def __init__(
        self,
        program: Program,
        run: Run,
        parallelism: int,
        outcome: Outcome | None = None,
        sources: Callable[[], list[Source]] | None = None,
    ) -> None:
        self._program, self._run, self._sources = program, run, sources
        pushed: list[Source] = [PushSource(source.splits) for source in program.sources]
        built = Built(program, pushed if sources is None else sources(), run.cached)
        self.harness = Harness(built.env, parallelism=parallelism, max_parallelism=8, seed=run.seed)
        self._collected = {name: self.harness.collect(stream) for name, stream in built.outputs.items()}
        self.outcome = outcome or Outcome({name: [] for name in self._collected})

    def rescaled(self, parallelism: int) -> _Running:
        """Takes a savepoint and restores it in a new harness."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.harness.savepoint(f"{folder}/savepoint")
            after = _Running(self._program, self._run, parallelism, self.outcome, self._sources)
            after.harness.restore_savepoint(path)
        self.finish()
        return after

    def run_batch(self, items: Iterable[Item], last: bool) -> None:
        self._run_items(items, last)
        self._collect()

    def read_batch(self) -> bool:
        """Runs the next batch of the sources. Returns False if they have nothing to read."""
        some = next(iter(self._collected.values()))
        before = len(some.batches)
        self.harness.run(max_batches=1)
        if len(some.batches) == before:
            return False
        self._collect()
        return True

    def _collect(self) -> None:
        for name, collected in self._collected.items():
            new = collected.records[len(collected) - len(collected.batches[-1]) :]
            self.outcome.batches[name].append([record_of(record) for record in new])

    def crash(self, items: Iterable[Item], last: bool) -> None:
        """Runs a batch that fails when its last slot has run. Nothing of it may remain. It is repeated with the same input."""
        job = self.harness.job

        def fail(level: int, slot: int) -> None:
            if (level, slot) == (job.program.depth, job.program.parallelism - 1):
                raise CrashError

        if job.program.depth:  # else there are no slots
            job.after_slot = fail
            with suppress(CrashError):
                self._run_items(items, last)
            job.after_slot = None

    def _run_items(self, items: Iterable[Item], last: bool) -> None:
        with self.harness.batch():
            for item in items:
                self._push(item, f"source{item.source}", item.split)
            if last:
                self.harness.end()

    def _push(self, item: Item, source: str, split: str) -> None:
        if item.clock:
            self.harness.set_time(item.clock)
        if item.key is None and item.timestamp is None:
            self.harness.end(source=source, split=split)
        else:
            self.harness.push_all([item.scripted(self._program.changes)], source=source, split=split)

    def finish(self) -> None:
        """Adds the counters to the outcome and closes the harness."""
        counters = self.outcome.counters
        counters["late"] = counters.get("late", 0) + self.harness.late_records()
        for uid, number in self.harness.dead_letters().items():
            counters[f"dead {uid}"] = counters.get(f"dead {uid}", 0) + number
        self.harness.close()


def record_of(record: At) -> Record:
    """Returns an element with its timestamp. Of a dead letter, only what does not depend on the run."""
    value = record.value
    if isinstance(value, DeadLetter):
        value = (
            str(value.key),
            unchanged(value.element),
            value.error,
            value.message,
            value.timestamp,
            value.split and value.split.rsplit("/", 1)[-1],  # files are in a temporary folder
            value.position,
        )
    return unchanged(value), record.timestamp
