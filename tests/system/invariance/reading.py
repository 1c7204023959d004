"""Sources that are read instead of pushed: files, and splits that watermark alignment may pause.

The size of their batches is a setting of the source.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import WatermarkStrategy
from penstock.connectors.file.source.source import FileSource
from penstock.connectors.source import Chunk, Offset, Source
from penstock.datastream import DataStream
from tests.system.invariance import program as p

_BYTES_PER_RECORD = 11  # about; lines are cut anywhere


class SplitsSource(Source):
    """Reads some records of each split per batch, except those of paused splits."""

    def __init__(self, splits: dict[str, list[tuple[Any, int]]], per_batch: int) -> None:
        self._splits = splits
        self._per_batch = per_batch

    def initial(self) -> Offset:
        return dict.fromkeys(self._splits, 0)

    def latest(self, start: Offset) -> Offset:
        ends = {name: len(records) for name, records in self._splits.items()}
        limit = self._per_batch or max(ends.values())
        return {name: at if name in self.paused else min(at + limit, ends[name]) for name, at in start.items()}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return [(name, start[name], end[name]) for name in end if end[name] > start[name]]

    def read(self, task: Any) -> Iterator[Chunk]:
        name, start, end = task
        records = self._splits[name][start:end]
        yield Chunk(name, start, [element for element, _ in records], [timestamp for _, timestamp in records])

    def splits(self, offset: Offset) -> list[str]:
        return list(self._splits)

    def ended(self, offset: Offset) -> list[str]:
        return [name for name, at in offset.items() if at == len(self._splits[name])]

    def waiting(self, end: Offset) -> list[str]:
        return [name for name, at in end.items() if at < len(self._splits[name])]


class ParseLine:
    """Converts a line of a file to an element whose text is its timestamp."""

    def __init__(self, changes: bool) -> None:
        self._changes = changes

    def __call__(self, line: str) -> Any:
        key, number, timestamp = line.split(",")
        return [key, int(number), timestamp] if self._changes else (key, int(number), timestamp)


class TimeOf:
    def __call__(self, element: Any, timestamp: int) -> int:
        return int(element[2])


def write_files(program: p.Program, items: tuple[p.Item, ...], run: p.Run, batch: int, folder: Path) -> bool:
    """Writes the files that appear before a batch, for all sources that read files. Returns whether more files will follow."""
    follows = False
    for number, source in enumerate(program.sources):
        (folder / str(number)).mkdir(parents=True, exist_ok=True)
        for at, split in enumerate(source.splits):
            path, appears = folder / str(number) / f"{split}.csv", _appears(source, at, run)
            follows = follows or appears > batch
            if appears <= batch and not path.exists():
                found = [item for item in items if (item.source, item.split) == (number, split)]
                path.write_text("".join(f"{i.key},{i.number},{i.timestamp}\n" for i in found), encoding="utf-8")
                os.utime(path, (at, at))
    return follows


def _appears(source: p.SourceSpec, file: int, run: p.Run) -> int:
    """Returns the batch before which a file appears."""
    later = source.age(file)
    return run.found[later - 1] if later and run.found else 0


def reading_sources(program: p.Program, items: tuple[p.Item, ...], run: p.Run, folder: Path) -> list[Source]:
    """Returns the sources of a program. Those that read files have been written by `write_files`."""
    sources: list[Source] = []
    for number, spec in enumerate(program.sources):
        if spec.reads == "splits":
            splits: dict[str, list[tuple[Any, int]]] = {split: [] for split in spec.splits}
            for item in items:
                if item.source == number:
                    splits[item.split].append((item.element(program.changes), item.timestamp or 0))
            sources.append(SplitsSource(splits, run.per_batch))
        else:
            size = run.per_batch * _BYTES_PER_RECORD or None
            order: Any = "modification_time" if spec.reads == "files in order" else None
            path, bounded = folder / str(number), not run.found
            source = FileSource(path, bytes_per_batch=size, files_in_time_order=order, bounded=bounded)
            sources.append(source)
    return sources


def parsed(lines: DataStream[Any], strategy: WatermarkStrategy, changes: bool) -> DataStream[Any]:
    """Returns the elements of lines, with their timestamps."""
    elements = lines.map(ParseLine(changes))
    return elements.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(TimeOf()))
