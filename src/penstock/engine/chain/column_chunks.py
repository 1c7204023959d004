"""Elements as columns on their way to a window operator that works by columns: collected, combined, packed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from penstock.engine.body import pack_body, unpack_body
from penstock.engine.flow import Flow
from penstock.engine.frames import Bundles, Columns
from penstock.engine.place import ChunkName
from penstock.engine.routing import Router
from penstock.engine.steps import SendStep
from penstock.runtime.call_site import CallSite
from penstock.runtime.vector.blocks import Block, combined
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Measures
from penstock.runtime.vector.places import Places
from penstock.time import MIN_WATERMARK

_FAR = 2**31 - 2
_NEVER = -(2**31)  # stands for MIN_WATERMARK among 32-bit numbers
_MOST = 1_000_000  # elements, or keys, that wait to be combined


class ColumnSender:
    """Sends elements to an operator by columns. Those of one task are combined over all its chunks."""

    def __init__(self, step: SendStep, router: Router, waits: bool) -> None:
        wanted = step.columns
        assert wanted is not None
        self._step = step
        self._router = router
        self._waits = waits  # until `flush`; else everything is sent at once
        self._combined = wanted.combined
        self._with_values = wanted.values
        self._measures = Measures(wanted.aggregate)
        self._grid = Grid.of(wanted.assigner) if wanted.on_grid else None
        self._codes = _Codes(router)
        self._buffers: dict[tuple[str | None, int], list[Block]] = {}
        self._waiting = 0
        self.site = CallSite(wanted.name, wanted.uid)

    def send(self, flow: Flow, chunk: ChunkName, out: Bundles) -> tuple[Flow, ...]:
        """Takes elements; gives dead letters of those without a key."""
        flow, _, codes, dead = self._router.keyed(flow, self._codes.__getitem__)
        if len(codes):
            self._buffers.setdefault((chunk.split, chunk.start), []).append(self._block(flow, codes, chunk))
            self._waiting += len(codes)
        if not self._waits or self._waiting > _MOST or len(self._codes) > _MOST:
            self.flush(out)
        return () if dead is None else (dead,)

    def _block(self, flow: Flow, codes: Any, chunk: ChunkName) -> Block:
        tags, places = flow.tags(), None
        if not self._combined:
            places = Places.of(tags, self._step.stream >= 0 and chunk.split is not None)
        try:
            columns = self._measures.read(flow.values)
        except Exception as error:
            raise self._told(error, flow) from error
        try:
            values = flow.values if self._with_values else None
            block = Block(self._codes.named, codes, flow.timestamps(), tags.watermark, places, None, columns, values)
            if self._grid is not None:
                self._grid.slices(block.times)
        except Exception as error:
            raise self.site.error(error, element=flow.values[0], origin=flow.origin(0)) from error
        return block

    def _told(self, error: Exception, flow: Flow) -> Exception:
        """The error of the element whose field could not be read."""
        for at, value in enumerate(flow.values):
            try:
                self._measures.read([value])
            except Exception as of_element:
                known = {"element": value, "origin": flow.origin(at), "timestamp": int(flow.timestamps()[at])}
                return self.site.error(of_element, **known)
        return self.site.error(error)

    def flush(self, out: Bundles) -> None:
        """Sends all that waits."""
        slots = np.array(self._codes.slots, np.int64)
        for (split, start), blocks in self._buffers.items():
            block = Block.join(blocks)
            if self._combined:
                block = combined(block, self._grid, self._measures)
            of = slots[block.codes]
            for slot in np.flatnonzero(np.bincount(of)).tolist():
                self._pack(block.take(np.flatnonzero(of == slot)), split, start, slot, out)
        self.forget()

    def forget(self) -> None:
        """Drops what waits: of an attempt that failed."""
        self._buffers = {}
        self._waiting = 0
        self._codes = _Codes(self._router)

    def _pack(self, block: Block, split: str | None, start: int, slot: int, out: Bundles) -> None:
        step = self._step
        from_source = step.stream >= 0 and split is not None
        body = pack(block)
        frame = Columns(
            step.operator,
            step.stream if from_source else -1,
            split or ("*" if step.stream >= 0 else ""),
            step.stream if step.stream >= 0 and not from_source else start,
            step.branch,
            body,
        )
        out.add(step.level, slot, frame, len(body))


class _Codes(dict[Any, int]):
    """Numbers keys as they come, and chooses their slots."""

    def __init__(self, router: Router) -> None:
        super().__init__()
        self.named: list[Any] = []
        self.slots: list[int] = []
        self._slot_of = router.slot_of

    def __missing__(self, key: Any) -> int:
        self.slots.append(self._slot_of(key))
        self.named.append(key)
        code = self[key] = len(self.named) - 1
        return code


def pack(block: Block) -> bytes:
    """A block as bytes."""
    packed = (
        block.keys,
        _small(block.codes),
        _small(block.times),
        _small(block.watermarks),
        None if block.places is None else [_small(c) for c in block.places.columns],
        None if block.counts is None else _small(block.counts),
        [_small(c) if isinstance(c, np.ndarray) and c.dtype == np.int64 else (0, c) for c in block.columns],
        None if block.values is None else pack_body(None, block.values),
    )
    return pickle.dumps(packed, 5)


def unpack(frame: Columns, origin: int, at_least: int) -> Block:
    """The block of a frame; its watermarks are raised to that of its split where that is higher than the chunk's own."""
    keys, codes, times, watermarks, places, counts, columns, values = pickle.loads(frame.body)
    watermarks = np.maximum(_large(watermarks), at_least)
    return Block(
        keys,
        _large(codes),
        _large(times),
        watermarks,
        None if places is None else Places([_large(c) for c in places], origin, frame.branch),
        None if counts is None else _large(counts),
        [_large(c) for c in columns],
        None if values is None else unpack_body(values)[1],
    )


def _small(values: Any) -> tuple[int, Any]:
    """Numbers as differences from one of them, in half the bytes if they are near enough; MIN_WATERMARK stays apart."""
    there = values[values != MIN_WATERMARK]
    base = int(there[0]) if len(there) else 0
    if len(there) and (int(there.max()) - base > _FAR or base - int(there.min()) > _FAR):
        return 0, values
    return base, np.where(values == MIN_WATERMARK, _NEVER, values - base).astype(np.int32)


def _large(packed: tuple[int, Any]) -> Any:
    base, values = packed
    if not isinstance(values, np.ndarray) or values.dtype != np.int32:
        return values
    return np.where(values == _NEVER, MIN_WATERMARK, values.astype(np.int64) + base)
