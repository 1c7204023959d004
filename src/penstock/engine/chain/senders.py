"""Senders at the ends of a chain: pack elements into frames for an operator or a sink."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine.chain.flow import Flow
from penstock.engine.chain.routing import Router
from penstock.engine.program.steps import SendStep, SinkStep
from penstock.engine.program.subtask_context import ChunkPosition, SubtaskContext
from penstock.engine.wire.arrow import ArrowPacker, arrow_packer
from penstock.engine.wire.body import pack_body, unpicklable_element
from penstock.engine.wire.frames import SINK_LEVEL, Bundles, Rows, SinkRows, pack_tags
from penstock.runtime.loop.records import Column, Tags


class RowSender:
    """Sends elements to the slots of an operator."""

    def __init__(self, step: SendStep, router: Router, subtask: SubtaskContext) -> None:
        self._step = step
        self._router = router
        self._subtask = subtask
        self._packer = _packer(step)

    def send(self, flow: Flow, chunk: ChunkPosition, out: Bundles) -> tuple[Flow, ...]:
        """Packs elements by slot. Returns the dead letters of elements that cannot be routed."""
        step = self._step
        flow, keys, slots, dead = self._router.route(flow, chunk, self._subtask)
        values, dead_letters = flow.values, () if dead is None else (dead,)
        if not values:
            return dead_letters
        timestamps = flow.timestamps()
        tags = flow.tags()
        for slot, picked in slots:
            if picked is None:
                slot_keys, slot_values, slot_timestamps, slot_tags = keys, values, timestamps, tags
            else:
                at = picked.tolist()
                slot_values = [values[i] for i in at]
                slot_keys = None if keys is None else [keys[i] for i in at]
                slot_timestamps, slot_tags = timestamps[picked], tags.take(picked)
            body = _pack(step, flow, slot_keys, slot_values, self._packer)
            add_rows(step, chunk, slot, slot_timestamps, slot_tags, body, out)
        return dead_letters


def add_rows(
    step: SendStep, chunk: ChunkPosition, slot: int, timestamps: Column, tags: Tags, body: bytes, out: Bundles
) -> None:
    """Adds the frame of some elements for one slot. Those of a source need only their watermarks and positions."""
    from_source = step.stream >= 0 and chunk.split is not None
    packed = np.concatenate((tags.watermark, tags.position)).tobytes() if from_source else pack_tags(tags)
    frame = Rows(
        step.operator,
        step.input,
        step.stream,
        from_source,
        chunk.split or "",
        chunk.start,
        step.branch,
        timestamps.tobytes(),
        packed,
        body,
    )
    out.add(step.level, slot, frame, len(body) + 24 * len(timestamps))


class SinkSender:
    """Sends elements to a sink. If the chain has already called the sink's function, only counts are sent."""

    def __init__(self, step: SinkStep, slot: int) -> None:
        self._step = step
        self._slot = slot
        self._packer = _packer(step)

    def send(self, flow: Flow, out: Bundles) -> None:
        step = self._step
        tags = pack_tags(flow.tags().on_branch(step.branch)) if step.wants_tags else b""
        body = b"" if step.function is not None else _pack(step, flow, None, flow.values, self._packer)
        timestamps = flow.timestamps().tobytes() if step.wants_timestamps else b""
        frame = SinkRows(step.sink, self._slot, len(flow.values), timestamps, tags, body)
        out.add(SINK_LEVEL, self._slot, frame, len(body))


def _packer(step: SendStep | SinkStep) -> ArrowPacker | None:
    known = step.element_type
    return None if known is None else arrow_packer(known.type_info, known.certain)


def _pack(
    step: SendStep | SinkStep, flow: Flow, keys: list[Any] | None, values: list[Any], packer: ArrowPacker | None
) -> bytes:
    try:
        return pack_body(keys, values, packer)
    except Exception as error:
        raise unpicklable_element(step.name, flow.values, error) from error
