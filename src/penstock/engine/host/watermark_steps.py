"""Watermark strategies that run in a host: after an operator, or with a generator that keeps state per split."""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.engine.chain.flow import ChainInput, Flow
from penstock.engine.chain.rejected_elements import RejectedElements
from penstock.engine.chain.watermarks import ChunkWatermarks, assign_timestamps, create_generator, send_progress
from penstock.engine.host.operator_instance import OperatorInstance
from penstock.engine.program.operator_kinds import GENERATOR_STATE
from penstock.engine.program.program import Program
from penstock.engine.program.steps import WatermarkStep
from penstock.engine.program.subtask_context import NO_CHUNK, ChunkPosition
from penstock.engine.wire.frames import Bundles, ChunkProgress, Frame
from penstock.functions import DEAD_LETTERS
from penstock.runtime.loop.channels import ALL_SPLITS
from penstock.runtime.loop.records import Column, Records, Tags, column
from penstock.state import ValueStateDescriptor
from penstock.time import MIN_WATERMARK


class MidStreamWatermarks:
    """Strategies after an operator. All slots share one watermark: the highest at the end of a batch (time-rules 2.10)."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._by_stream: dict[int, ChunkWatermarks] = {}

    def begin_batch(self) -> None:
        self._by_stream.clear()

    def apply(self, step: WatermarkStep, flow: Flow, timestamps: Column, rejected: RejectedElements) -> Flow:
        """Assigns timestamps and advances the watermark. Elements keep the watermark from before the batch."""
        if step.strategy.kind == "ingestion":
            timestamps = np.full(len(flow.values), flow.base.now, np.int64)
        watermarks = self._by_stream.setdefault(step.stream, ChunkWatermarks())
        if step.strategy.kind in ("bounded", "ingestion"):
            watermarks.apply_bounded_delay(timestamps, step.strategy.delay)
        elif step.strategy.kind == "columns":
            timestamps, proposed = step.strategy.columns.evaluate(flow.values)
            watermarks.apply_marks(proposed)
        elif step.strategy.kind == "custom":
            watermarks.run_generator(create_generator(step.strategy, rejected), flow.values, timestamps, rejected)
        return Flow(flow.values, ChainInput(timestamps, flow.tags().without_watermarks, flow.base.now))

    def send(self, out: Bundles) -> None:
        """Sends the watermarks of this slot to every slot that reads the streams."""
        for stream, w in self._by_stream.items():
            frame = ChunkProgress(stream, ALL_SPLITS, 0, w.watermark, w.count, w.explicit, [], False)
            send_progress(self._program, frame, out)


def run_generators(
    instance: OperatorInstance, records: Records, frames: list[Frame], program: Program, out: Bundles
) -> list[ChunkProgress]:
    """Runs a generator that keeps state, split by split, and sends the watermark of each split to all reading slots.

    Returns what it has sent.
    """
    operator, site = instance.program, instance.loop.site
    strategy, stream, guarded = operator.spec.strategy, operator.generated_stream, operator.guarded
    dead_letter_chain = instance.sides.get(DEAD_LETTERS.tag_id)
    state = instance.backend.handle(ValueStateDescriptor(GENERATOR_STATE))
    records.sort(MIN_WATERMARK, MIN_WATERMARK)
    source = ChainInput(records.timestamps, lambda: records.tags)
    source_progress = [f for f in frames if isinstance(f, ChunkProgress) and f.stream in operator.streams]
    backlogged = sorted({split for f in source_progress for split in f.backlogged_splits})
    transient = {f.split for f in source_progress if f.transient}
    ends = program.streams[stream].transient_splits != "concurrent"
    progress: list[ChunkProgress] = []
    keys = records.keys or []
    for split in sorted(set(keys)):
        at = [i for i, key in enumerate(keys) if key == split]
        instance.backend.set_key(split)
        watermarks = ChunkWatermarks()
        flow = Flow([records.values[i] for i in at], source, column(at))
        without_timestamp, timestamps = RejectedElements(site, flow, guarded), flow.timestamps()
        if (assign := strategy.timestamp_function()) is not None:
            timestamps = assign_timestamps(assign, flow.values, timestamps, without_timestamp)
        flow = without_timestamp.remove_from(flow)
        without_watermark = RejectedElements(site, flow, guarded)
        stored = state.value() or (create_generator(strategy, without_watermark), MIN_WATERMARK)
        generator, watermarks.watermark = stored
        before, generator = watermarks.run_generator(generator, flow.values, timestamps, without_watermark)
        before = np.maximum(before, flow.tags().watermark)  # explicit watermarks of the source
        if ends and split in transient and split not in backlogged:
            state.clear()  # the split has ended
        else:
            state.update((generator, watermarks.watermark))
        base = ChainInput(timestamps, partial(Tags.of_source, before, 0, flow.tags().position))
        chunk = ChunkPosition(split, int(records.tags.position[at[0]]))
        instance.chain.run(without_watermark.remove_from(Flow(flow.values, base)), chunk, out)
        if dead_letter_chain is not None:
            for dead_letters in (*without_timestamp.dead_letters(), *without_watermark.dead_letters()):
                dead_letter_chain.run(dead_letters, NO_CHUNK, out)
        w = watermarks
        progress.append(
            ChunkProgress(stream, split, chunk.start, w.watermark, w.count, w.explicit, backlogged, split in transient)
        )
    if source_progress and not progress and instance.subtask.slot == 0:
        progress.append(ChunkProgress(stream, "", 0, MIN_WATERMARK, 0, [], backlogged, False))
    for frame in progress:
        send_progress(program, frame, out)
    instance.backend.unset_key()
    return progress
