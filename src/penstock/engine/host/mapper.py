"""The mapper of a source: reads the chunks of a task, runs the chain on them and packs bundles. Runs in the source task."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.connectors.source import Chunk, ReadContext
from penstock.engine.chain.await_chunks import run_chunks
from penstock.engine.chain.chain import ChainRunner
from penstock.engine.chain.flow import ChainInput, Flow
from penstock.engine.chain.rejected_elements import RejectedElements
from penstock.engine.chain.watermarks import ChunkWatermarks, create_generator, send_progress
from penstock.engine.host.bad_records import BadRecords
from penstock.engine.host.reports import sum_dead_letters
from penstock.engine.program.program import Program, SourceProgram
from penstock.engine.program.running_function import running_function
from penstock.engine.program.steps import WatermarkStep, all_steps, has_async_step
from penstock.engine.program.subtask_context import ChunkPosition, SubtaskContext
from penstock.engine.program.timestamp_use import reads_timestamps
from penstock.engine.wire.frames import SINK_LEVEL, Bundle, Bundles, ChunkProgress, SourceTaskReport
from penstock.engine.wire.log_capture import take_captured_lines
from penstock.functions import DeadLetter
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.records import Column, Tags, column
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP, WatermarkGenerator

_MAX_CONCURRENT = 50_000  # elements of chunks whose asynchronous calls run concurrently


class Mapper:
    """The mapper of one source and subtask in one worker."""

    def __init__(self, program: Program, source: SourceProgram, subtask: int) -> None:
        self._program = program
        self._source = source
        self._subtask = SubtaskContext(program, subtask % program.source_parallelism, program.source_parallelism)
        self._name_in_logs()  # functions may log in open
        self._chain = ChainRunner(
            source.chain,
            self._subtask,
            self._apply_watermark_step,
            self._locate,
            collects_columns=True,
            dead_letter_steps=source.dead_letter_chain,
        )
        self._chain.open()
        self._has_async_step = has_async_step(*source.chain)
        steps = all_steps([*source.chain, *source.dead_letter_chain])
        self._streams = [source.stream, *(s.stream for s in steps if isinstance(s, WatermarkStep))]
        generated = {operator.generated_stream for operator in program.operators} - {-1}
        self._generated = sorted(s for s in generated if program.streams[s].source == source.number)
        self._aligned = {i for i, stream in enumerate(program.streams) if stream.alignment is not None}
        # Dead letters of the source contain the timestamps of their records.
        timestamps_needed = source.on_error == "dead_letter" or reads_timestamps(source.chain)
        source.source.configure(ReadContext(timestamps_needed=timestamps_needed))
        self._site = CallSite(source.name, source.uid, source.source, "Source")
        self._bad = BadRecords(source.name, source.uid, source.on_error, bool(source.dead_letter_chain), self._site)
        self.worker = ""  # name of this process, for reports
        self.batch: int | None = None  # number of the current batch, if known
        self._chunk_watermarks: dict[tuple[int, str], ChunkWatermarks] = {}
        self._generators: dict[tuple[int, str], WatermarkGenerator] = {}
        self._starts: dict[str, int] = {}
        self._generated_marks: list[ChunkProgress] = []
        self._split = ""
        self._read_seconds = 0.0

    def close(self) -> None:
        self._chain.close()

    def _name_in_logs(self) -> None:
        running = self._subtask.running
        running.operator, running.subtask = self._source.name, self._subtask.slot

    def roll_back(self) -> None:
        """Discards the metrics of the last task, because its batch failed."""
        self._subtask.roll_back_metrics()

    def run(self, task: Any, backlogged: list[str]) -> Iterator[Bundle]:
        """Yields the bundles of one task: first elements, then watermarks and the report.

        `backlogged` are the splits that still have unread data after the batch.
        """
        self._chunk_watermarks.clear()
        self._generators.clear()
        self._starts.clear()
        self._generated_marks.clear()
        list(self._chain.take_dead_letter_counts())  # these calls discard what a failed attempt left
        self._bad.take_counts()
        self._chain.take_flows()
        self._chain.take_work()
        self._chain.discard_columns()
        self._subtask.running = running_function()
        self._name_in_logs()
        self._subtask.begin_metrics()
        out = Bundles()
        transient: set[str] = set()
        count = 0
        began, began_at, self._read_seconds = time.perf_counter(), time.time(), 0.0
        for chunks in self._read_groups(task):
            for chunk in chunks:
                count += len(chunk.values)
                if chunk.transient:
                    transient.add(chunk.split)
                self._starts.setdefault(chunk.split, chunk.start)
            self._run(chunks, out)
            for chunk in chunks:
                if chunk.bad or chunk.skipped:
                    self._run_bad(chunk, out)
            self._name_in_logs()
            yield from out.take_full()
        self._chain.flush(out)
        progress = self._progress(backlogged, transient) + self._generated_marks
        for frame in progress:
            send_progress(self._program, frame, out)
        seconds, slot = time.perf_counter() - began, self._subtask.slot
        bad_records, skipped = self._bad.take_counts()
        report = SourceTaskReport(
            source_number=self._source.number,
            records=count,
            seconds=seconds,
            subtask=slot,
            metrics=self._subtask.take_metrics(int(time.time() * 1000)),
            logs=take_captured_lines(),
            dead_letters=sum_dead_letters(self._chain.take_dead_letter_counts()) | bad_records,
            flows=self._chain.take_flows(),
            skipped=skipped,
            started_at=began_at,
            read_seconds=round(self._read_seconds, 4),
            operator_seconds=self._chain.take_work(),
            worker=self.worker,
            aligned_progress=[p for p in progress if p.stream in self._aligned],
        )
        out.add(SINK_LEVEL, slot, report)
        yield from out.take_all()

    def _run(self, chunks: list[Chunk], out: Bundles) -> None:
        if len(chunks) == 1 and chunks[0].marks and not self._program.batch_mode:  # batch mode has no watermarks
            [chunk] = chunks
            for part in self._between_marks(chunk):
                self._chain.run(self._flow(part), ChunkPosition(chunk.split, self._starts[chunk.split]), out)
            return
        parts = [(self._flow(chunk), ChunkPosition(chunk.split, self._starts[chunk.split])) for chunk in chunks]
        if len(parts) == 1:
            self._chain.run(*parts[0], out)
        else:
            run_chunks(self._chain, self._source.chain, parts, self._enter, out)

    def _between_marks(self, chunk: Chunk) -> Iterator[Chunk]:
        """The parts of a chunk between its explicit watermarks, which advance all streams of the source (time-rules 1.3)."""
        done = 0
        for index, watermark in [*chunk.marks, (len(chunk.values), None)]:
            if index > done or watermark is None:
                yield chunk.part(done, index)
            done = index
            self._split = chunk.split
            if watermark is not None:
                for stream in self._streams:
                    self._watermarks_of(stream).advance(watermark)
                # Its operator runs all records of the batch together, so that only the position shows what comes after it.
                at = chunk.position(index) - 1
                self._generated_marks += [
                    ChunkProgress(s, chunk.split, at, watermark, 0, [watermark], [], chunk.transient)
                    for s in self._generated
                ]

    def _run_bad(self, chunk: Chunk, out: Bundles) -> None:
        """Handles the records of a chunk that do not decode. Dead letters keep split and position."""
        if dead_letters := self._bad.handle(chunk, self.batch):
            position = ChunkPosition(chunk.split, self._starts[chunk.split])
            self._chain.run_dead_letters(self._dead_letter_flow(dead_letters, chunk), position, out)

    def _dead_letter_flow(self, dead_letters: list[DeadLetter], chunk: Chunk) -> Flow:
        self._split = chunk.split
        timestamps = column([NO_TIMESTAMP if d.timestamp is None else d.timestamp for d in dead_letters])
        positions = column([bad.position for bad in chunk.bad])
        watermarks, origin = self._watermarks_of(self._source.stream).keep(len(dead_letters)), self._origin()
        return Flow(list(dead_letters), ChainInput(timestamps, lambda: Tags.of_source(watermarks, origin, positions)))

    def _enter(self, chunk: ChunkPosition) -> None:
        self._split = chunk.split or ""

    def _flow(self, chunk: Chunk) -> Flow:
        n = len(chunk.values)
        self._split = chunk.split
        timestamps = np.full(n, NO_TIMESTAMP, np.int64) if chunk.timestamps is None else column(chunk.timestamps)
        if chunk.positions is None:
            positions = np.arange(chunk.start, chunk.start + n, dtype=np.int64)
        else:
            positions = column(chunk.positions)
        watermarks = self._watermarks_of(self._source.stream).keep(n)
        origin = self._origin()
        return Flow(chunk.values, ChainInput(timestamps, lambda: Tags.of_source(watermarks, origin, positions)))

    def _watermarks_of(self, stream: int) -> ChunkWatermarks:
        return self._chunk_watermarks.setdefault((stream, self._split), ChunkWatermarks())

    def _read_groups(self, task: Any) -> Iterator[list[Chunk]]:
        """Groups of chunks that run through the chain together: single chunks, unless it has an asynchronous step."""
        if not self._has_async_step:
            yield from ([chunk] for chunk in self._read(task))
            return
        group: list[Chunk] = []
        elements = 0
        for chunk in self._read(task):
            if chunk.marks:  # its parts run one after the other
                if group:
                    yield group
                yield [chunk]
                group, elements = [], 0
                continue
            group.append(chunk)
            elements += len(chunk.values)
            if elements >= _MAX_CONCURRENT:
                yield group
                group, elements = [], 0
        if group:
            yield group

    def _read(self, task: Any) -> Iterator[Chunk]:
        chunks = iter(self._source.source.read(task))
        while True:
            began = time.perf_counter()
            try:
                chunk = next(chunks, None)
            except Exception as error:
                raise self._site.error(error, batch=self.batch) from error
            self._read_seconds += time.perf_counter() - began
            if chunk is None:
                return
            yield chunk

    def _locate(self, tags: Tags, at: int) -> dict[str, Any]:
        """Source, split, position and batch of an element."""
        return {
            "source": self._source.name,
            "split": self._split,
            "position": int(tags.position[at]),
            "batch": self.batch,
        }

    def _apply_watermark_step(
        self, step: WatermarkStep, flow: Flow, timestamps: Column, rejected: RejectedElements
    ) -> Flow:
        """Assigns the watermarks of a strategy."""
        strategy = step.strategy
        chunk_watermarks = self._watermarks_of(step.stream)
        watermarks: Column
        if self._program.batch_mode:
            watermarks = chunk_watermarks.keep(len(flow.values))
        elif strategy.kind == "bounded":
            watermarks = chunk_watermarks.apply_bounded_delay(timestamps, strategy.delay)
            if self._program.streams[step.stream].periodic:  # elements have the watermark from before the batch
                watermarks = np.full(len(watermarks), MIN_WATERMARK, np.int64)
        elif strategy.kind == "columns":
            timestamps, proposed = strategy.columns.evaluate(flow.values)
            watermarks = chunk_watermarks.apply_marks(proposed)
            if self._program.streams[step.stream].periodic:
                watermarks = np.full(len(watermarks), MIN_WATERMARK, np.int64)
        elif strategy.kind == "custom":
            generator = self._generators.get((step.stream, self._split)) or create_generator(strategy, rejected)
            watermarks, generator = chunk_watermarks.run_generator(generator, flow.values, timestamps, rejected)
            self._generators[step.stream, self._split] = generator
        else:
            watermarks = chunk_watermarks.keep(len(flow.values))
        positions, origin = flow.tags().position, self._origin()
        return Flow(flow.values, ChainInput(timestamps, lambda: Tags.of_source(watermarks, origin, positions)))

    def _origin(self) -> int:
        """A number that orders splits in sinks directly after sources: by source and split name, equal in every run."""
        name = self._split.encode()
        return (self._source.number << 56) + (int.from_bytes(name[:3].ljust(3, b"\0"), "big") << 32) + zlib.crc32(name)

    def _progress(self, backlogged: list[str], transient: set[str]) -> list[ChunkProgress]:
        """The watermarks of all splits that the task has read. A stream without any learns at least which splits wait."""
        progress = [
            ChunkProgress(
                stream, split, self._starts[split], w.watermark, w.count, w.explicit, backlogged, split in transient
            )
            for (stream, split), w in self._chunk_watermarks.items()
        ]
        without = set(self._streams) - {p.stream for p in progress}
        return progress + [ChunkProgress(s, "", 0, MIN_WATERMARK, 0, [], backlogged, False) for s in sorted(without)]
