"""Sends elements as columns to a window operator that processes columns: collects, combines and packs them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from penstock.engine.chain.flow import Flow
from penstock.engine.chain.routing import Router
from penstock.engine.program.steps import SendStep
from penstock.engine.program.subtask_context import ChunkPosition
from penstock.engine.wire.body import pack_body, unpack_body
from penstock.engine.wire.frames import Bundles, Columns
from penstock.runtime.columnar.accumulators import Accumulators
from penstock.runtime.columnar.column_block import ColumnBlock, combine
from penstock.runtime.columnar.positions import ElementPositions
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.pickling import dumps
from penstock.time import MIN_WATERMARK

_MAX_DIFFERENCE = 2**31 - 2
_NO_WATERMARK = -(2**31)  # MIN_WATERMARK as a 32-bit number
_MAX_COLLECTED = 1_000_000  # elements, or keys, that are collected before they are combined


class ColumnSender:
    """Sends elements to one operator. In a source task, the elements of all chunks are combined."""

    def __init__(self, step: SendStep, router: Router, collects: bool) -> None:
        request = step.columns
        assert request is not None
        self._step = step
        self._router = router
        self._collects = collects  # until `flush`; otherwise `send` sends immediately
        self._combined = request.combined
        self._with_values = request.values
        self._accumulators = Accumulators(request.aggregate)
        self._grid = Grid.from_assigner(request.assigner) if request.on_grid else None
        self._codes = _Codes(router)
        self._buffers: dict[tuple[str | None, int], list[ColumnBlock]] = {}
        self._collected = 0
        self.site = CallSite(request.name, request.uid)

    def send(self, flow: Flow, chunk: ChunkPosition, out: Bundles) -> tuple[Flow, ...]:
        """Adds elements. Returns the dead letters of elements without a key."""
        flow, _, codes, dead = self._router.keyed(flow, self._codes.__getitem__)
        if len(codes):
            self._buffers.setdefault((chunk.split, chunk.start), []).append(self._block(flow, codes, chunk))
            self._collected += len(codes)
        if not self._collects or self._collected > _MAX_COLLECTED or len(self._codes) > _MAX_COLLECTED:
            self.flush(out)
        return () if dead is None else (dead,)

    def _block(self, flow: Flow, codes: Any, chunk: ChunkPosition) -> ColumnBlock:
        tags, positions = flow.tags(), None
        if not self._combined:
            positions = ElementPositions.from_tags(tags, self._step.stream >= 0 and chunk.split is not None)
        try:
            columns = self._accumulators.read(flow.values)
        except Exception as error:
            raise self._element_error(error, flow) from error
        try:
            values = flow.values if self._with_values else None
            block = ColumnBlock(
                self._codes.key_list, codes, flow.timestamps(), tags.watermark, positions, None, columns, values
            )
            if self._grid is not None:
                self._grid.slice_starts(block.times)
        except Exception as error:
            raise self.site.error(error, element=flow.values[0], origin=flow.origin(0)) from error
        return block

    def _element_error(self, error: Exception, flow: Flow) -> Exception:
        """The error for the element whose field could not be read."""
        for at, value in enumerate(flow.values):
            try:
                self._accumulators.read([value])
            except Exception as element_error:
                details = {"element": value, "origin": flow.origin(at), "timestamp": int(flow.timestamps()[at])}
                return self.site.error(element_error, **details)
        return self.site.error(error)

    def flush(self, out: Bundles) -> None:
        """Sends all collected elements."""
        slots = np.array(self._codes.slots, np.int64)
        for (split, start), blocks in self._buffers.items():
            block = ColumnBlock.join(blocks)
            if self._combined:
                block = combine(block, self._grid, self._accumulators)
            block_slots = slots[block.codes]
            for slot in np.flatnonzero(np.bincount(block_slots)).tolist():
                self._pack(block.take(np.flatnonzero(block_slots == slot)), split, start, slot, out)
        self.discard()

    def discard(self) -> None:
        """Drops the elements that a failed attempt collected."""
        self._buffers = {}
        self._collected = 0
        self._codes = _Codes(self._router)

    def _pack(self, block: ColumnBlock, split: str | None, start: int, slot: int, out: Bundles) -> None:
        step = self._step
        from_source = step.stream >= 0 and split is not None
        body = pack_block(block)
        frame = Columns(
            step.operator,
            step.stream,
            from_source,
            split or "",
            start,
            step.branch,
            body,
        )
        out.add(step.level, slot, frame, len(body))


class _Codes(dict[Any, int]):
    """Assigns a number to each new key, and chooses its slot."""

    def __init__(self, router: Router) -> None:
        super().__init__()
        self.key_list: list[Any] = []
        self.slots: list[int] = []
        self._slot_of = router.slot_of

    def __missing__(self, key: Any) -> int:
        self.slots.append(self._slot_of(key))
        self.key_list.append(key)
        code = self[key] = len(self.key_list) - 1
        return code


def pack_block(block: ColumnBlock) -> bytes:
    """Encodes a block."""
    packed = (
        block.keys,
        _compress(block.codes),
        _compress(block.times),
        _compress(block.watermarks),
        None if block.positions is None else [_compress(c) for c in block.positions.columns],
        None if block.counts is None else _compress(block.counts),
        [_compress(c) if isinstance(c, np.ndarray) and c.dtype == np.int64 else (0, c) for c in block.columns],
        None if block.values is None else pack_body(None, block.values),
    )
    return dumps(packed)


def unpack_block(frame: Columns, origin: int, at_least: int) -> ColumnBlock:
    """Decodes the block of a frame. Its watermarks are at least `at_least`, the watermark of its split."""
    keys, codes, times, watermarks, positions, counts, columns, values = pickle.loads(frame.body)
    watermarks = np.maximum(_decompress(watermarks), at_least)
    return ColumnBlock(
        keys,
        _decompress(codes),
        _decompress(times),
        watermarks,
        None if positions is None else ElementPositions([_decompress(c) for c in positions], origin, frame.branch),
        None if counts is None else _decompress(counts),
        [_decompress(c) for c in columns],
        None if values is None else unpack_body(values)[1],
    )


def _compress(values: Any) -> tuple[int, Any]:
    """Numbers as 32-bit differences from one of them, if they are close enough. MIN_WATERMARK is encoded separately."""
    numbers = values[values != MIN_WATERMARK]
    base = int(numbers[0]) if len(numbers) else 0
    if len(numbers) and (int(numbers.max()) - base > _MAX_DIFFERENCE or base - int(numbers.min()) > _MAX_DIFFERENCE):
        return 0, values
    return base, np.where(values == MIN_WATERMARK, _NO_WATERMARK, values - base).astype(np.int32)


def _decompress(packed: tuple[int, Any]) -> Any:
    base, values = packed
    if not isinstance(values, np.ndarray) or values.dtype != np.int32:
        return values
    return np.where(values == _NO_WATERMARK, MIN_WATERMARK, values.astype(np.int64) + base)
