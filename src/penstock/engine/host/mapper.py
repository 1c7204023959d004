"""The mapper of a source: reads a task's chunks, runs the chain on them, and packs bundles. Runs inside the source's reader."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.connectors.source import Chunk
from penstock.engine.aside import Aside
from penstock.engine.bad_records import BadRecords
from penstock.engine.chain import ChainRunner
from penstock.engine.flow import Base, Flow
from penstock.engine.frames import SINKS, Bundle, Bundles, Counted, Marks
from penstock.engine.logs import RUNNING, take_lines
from penstock.engine.marks import ChunkMarks, made_generator
from penstock.engine.place import ChunkName, Place
from penstock.engine.program import Program, SourceProgram
from penstock.engine.reports import count_letters
from penstock.engine.steps import WatermarkStep, awaits
from penstock.engine.together import run_together
from penstock.engine.unread_timestamp import asks_for_timestamps
from penstock.functions import DeadLetter
from penstock.runtime.call_site import CallSite
from penstock.runtime.records import Column, Tags, column
from penstock.time import NO_TIMESTAMP, WatermarkGenerator

_MOST_TOGETHER = 50_000  # elements of chunks that wait for answers together


class Mapper:
    """One source's mapper in one worker."""

    def __init__(self, program: Program, source: SourceProgram, subtask: int) -> None:
        self._program = program
        self._source = source
        place = Place(program, subtask % program.parallelism, program.parallelism)
        self._place = place
        self._chain = ChainRunner(source.chain, place, self._watermarks, self._locate, waits=True, beside=source.dead)
        self._chain.open()
        self._awaits = awaits(*source.chain)
        # Dead letters of the source tell the times of their records.
        source.source.stamps_wanted = source.on_error == "dead_letter" or asks_for_timestamps(source.chain)
        self._site = CallSite(source.name, source.uid, source.source, "Source")
        self._bad = BadRecords(source.name, source.uid, source.on_error, bool(source.dead), self._site)
        self.worker = ""  # what this process is called, where that is told
        self.batch: int | None = None  # number of the running batch, where it is known
        self._marks: dict[tuple[int, str], ChunkMarks] = {}
        self._generators: dict[tuple[int, str], WatermarkGenerator] = {}
        self._starts: dict[str, int] = {}
        self._split = ""
        self._reading = 0.0

    def close(self) -> None:
        self._chain.close()

    def roll_back(self) -> None:
        """What the last task measured does not count: its batch failed."""
        self._place.roll_back_metrics()

    def run(self, task: Any, waiting: list[str]) -> Iterator[Bundle]:
        """All bundles of one task: elements as they come, marks and counts at the end."""
        self._marks.clear()
        self._generators.clear()
        self._starts.clear()
        list(self._chain.dead_letters())  # of an attempt that failed
        self._bad.count()
        self._chain.take_flows()
        self._chain.take_work()
        self._chain.forget_columns()
        RUNNING.operator, RUNNING.subtask = self._source.name, self._place.slot
        self._place.begin_metrics()
        out = Bundles()
        transient: set[str] = set()
        count = 0
        began, began_at, self._reading = time.perf_counter(), time.time(), 0.0
        for chunks in self._together(task):
            for chunk in chunks:
                count += len(chunk.values)
                if chunk.transient:
                    transient.add(chunk.split)
                self._starts.setdefault(chunk.split, chunk.start)
            self._run(chunks, out)
            for chunk in chunks:
                if chunk.bad or chunk.skipped:
                    self._run_bad(chunk, out)
            RUNNING.operator = self._source.name
            yield from out.take_full()
        self._chain.flush(out)
        self._tell(waiting, transient, out)
        metrics = self._place.take_metrics(int(time.time() * 1000))
        spent, slot, dead = time.perf_counter() - began, self._place.slot, count_letters(self._chain.dead_letters())
        own_dead, skipped = self._bad.count()
        flows = self._chain.take_flows()
        counted = Counted(
            self._source.number,
            count,
            spent,
            slot,
            metrics,
            take_lines(),
            dead | own_dead,
            flows,
            skipped,
            began_at,
            round(self._reading, 4),
            self._chain.take_work(),
            self.worker,
        )
        out.add(SINKS, slot, counted)
        yield from out.take_all()

    def _run(self, chunks: list[Chunk], out: Bundles) -> None:
        parts = [(self._flow(chunk), ChunkName(chunk.split, self._starts[chunk.split])) for chunk in chunks]
        if len(parts) == 1:
            self._chain.run(*parts[0], out)
        else:
            run_together(self._chain, self._source.chain, parts, self._enter, out)

    def _run_bad(self, chunk: Chunk, out: Bundles) -> None:
        """The way of records that do not decode: in their split and at their positions, beside the others."""
        if letters := self._bad.take(chunk, self.batch):
            self._chain.run_beside(
                self._letters(letters, chunk), ChunkName(chunk.split, self._starts[chunk.split]), out
            )

    def _letters(self, letters: list[DeadLetter], chunk: Chunk) -> Flow:
        self._split = chunk.split
        timestamps = column([NO_TIMESTAMP if d.timestamp is None else d.timestamp for d in letters])
        positions = column([bad.position for bad in chunk.bad])
        watermarks, origin = self._marks_of(self._source.stream).follow(len(letters), []), self._origin()
        return Flow(list(letters), Base(timestamps, lambda: Tags.of_source(watermarks, origin, positions)))

    def _enter(self, chunk: ChunkName) -> None:
        self._split = chunk.split or ""

    def _flow(self, chunk: Chunk) -> Flow:
        n = len(chunk.values)
        self._split = chunk.split
        timestamps = np.full(n, NO_TIMESTAMP, np.int64) if chunk.timestamps is None else column(chunk.timestamps)
        if chunk.positions is None:
            positions = np.arange(chunk.start, chunk.start + n, dtype=np.int64)
        else:
            positions = column(chunk.positions)
        explicit = [] if self._program.batch else chunk.marks  # batch mode knows no watermarks
        watermarks = self._marks_of(self._source.stream).follow(n, explicit)
        origin = self._origin()
        return Flow(chunk.values, Base(timestamps, lambda: Tags.of_source(watermarks, origin, positions)))

    def _marks_of(self, stream: int) -> ChunkMarks:
        return self._marks.setdefault((stream, self._split), ChunkMarks())

    def _together(self, task: Any) -> Iterator[list[Chunk]]:
        """Chunks that run together: one by one, unless a step of the chain waits for answers."""
        if not self._awaits:
            yield from ([chunk] for chunk in self._read(task))
            return
        gathered: list[Chunk] = []
        elements = 0
        for chunk in self._read(task):
            gathered.append(chunk)
            elements += len(chunk.values)
            if elements >= _MOST_TOGETHER:
                yield gathered
                gathered, elements = [], 0
        if gathered:
            yield gathered

    def _read(self, task: Any) -> Iterator[Chunk]:
        chunks = iter(self._source.source.read(task))
        while True:
            began = time.perf_counter()
            try:
                chunk = next(chunks, None)
            except Exception as error:
                raise self._site.error(error, batch=self.batch) from error
            self._reading += time.perf_counter() - began
            if chunk is None:
                return
            yield chunk

    def _locate(self, tags: Tags, at: int) -> dict[str, Any]:
        """What is known of an element, by its index."""
        return {
            "source": self._source.name,
            "split": self._split,
            "position": int(tags.position[at]),
            "batch": self.batch,
        }

    def _watermarks(self, step: WatermarkStep, flow: Flow, timestamps: Column, aside: Aside) -> Flow:
        """Gives a flow the timestamps and watermarks of a strategy."""
        strategy = step.strategy
        marks = self._marks_of(step.stream)
        watermarks: Column
        if self._program.batch:
            watermarks = marks.follow(len(flow.values), [])
        elif strategy.kind == "bounded":
            watermarks = marks.bounded(timestamps, strategy.delay)
        elif strategy.kind == "custom":
            generator = self._generators.get((step.stream, self._split)) or made_generator(strategy, aside)
            watermarks, generator = marks.generated(generator, flow.values, timestamps, aside)
            self._generators[step.stream, self._split] = generator
        else:
            watermarks = marks.follow(len(flow.values), [])
        positions, origin = flow.tags().position, self._origin()
        return Flow(flow.values, Base(timestamps, lambda: Tags.of_source(watermarks, origin, positions)))

    def _origin(self) -> int:
        """Orders splits in sinks that stand directly behind sources: by short names, and always in the same way."""
        name = self._split.encode()
        return (self._source.number << 56) + (int.from_bytes(name[:3].ljust(3, b"\0"), "big") << 32) + zlib.crc32(name)

    def _tell(self, waiting: list[str], transient: set[str], out: Bundles) -> None:
        """Every slot that listens to a stream hears of each chunk, also when none of its elements came there."""
        streams = self._program.streams
        for (number, split), marks in self._marks.items():
            for level in streams[number].levels:
                for slot in range(self._program.parallelism):
                    frame = Marks(
                        number,
                        split,
                        self._starts[split],
                        marks.mark,
                        marks.count,
                        marks.explicit,
                        waiting,
                        split in transient,
                    )
                    out.add(level, slot, frame)
