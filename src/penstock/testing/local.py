"""Runs a job's programs in this process: the same mappers and hosts as on Spark, stores in memory, no JVM."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import cloudpickle
import msgspec

from penstock.connectors.sink import WriteTask
from penstock.engine.frames import SINKS, Bundle, Bundles, Control, Output, Report, decode_bundle, unpack_column, unpack_tags
from penstock.engine.frames import unpack_body
from penstock.engine.host import LevelHost, SlotMeta
from penstock.engine.mapper import Mapper
from penstock.engine.program import Program
from penstock.runtime.store import MemoryBase, Store

Planned = tuple[int, Any, list[str]]  # source, task, splits with unread data


class LocalJob:
    """One run of a job, batch by batch. A batch that fails leaves no trace."""

    def __init__(self, program: Program, seed: int = 0) -> None:
        self._pickled = cloudpickle.dumps(program)
        self.program: Program = self._copy()
        self._random = random.Random(seed)  # noqa: S311 - bundles arrive in any order, and it must not matter
        self._bases: dict[tuple[int, int], MemoryBase] = {}
        self._hosts: dict[tuple[int, int], LevelHost] = {}
        self.reports: list[Report] = []
        self.batch = 0
        for level in range(1, program.depth + 1):
            for slot in range(program.parallelism):
                self._open(level, slot, MemoryBase(), SlotMeta())

    def _copy(self) -> Program:
        copy: Program = cloudpickle.loads(self._pickled)
        return copy

    def _open(self, level: int, slot: int, base: MemoryBase, meta: SlotMeta) -> None:
        self._bases[level, slot] = base
        self._hosts[level, slot] = LevelHost(self._copy(), level, slot, Store(base), meta)

    def run(self, planned: list[Planned], control: Control | None, timestamp: int) -> list[list[Any]]:
        """One batch; what each sink's commit gives back."""
        metas = {at: msgspec.msgpack.encode(host.meta) for at, host in self._hosts.items()}
        try:
            bundles = self._map(planned, control)
            for level in range(1, self.program.depth + 1):
                bundles = self._level(level, bundles, timestamp)
            committed = self._sink(bundles)
        except BaseException:
            for at, host in self._hosts.items():
                host._roll_back(metas[at])
            raise
        for at, host in self._hosts.items():
            self._bases[at].apply(host.store.take_changes())
        self.batch += 1
        return committed

    def _map(self, planned: list[Planned], control: Control | None) -> list[Bundle]:
        bundles: list[Bundle] = []
        for number, (source, task, waiting) in enumerate(planned):
            program = self._copy()
            mapper = Mapper(program, program.sources[source], number)
            bundles += mapper.run(task, waiting)
            mapper.close()
        if control is not None:
            out = Bundles()
            for level in self.program.control_levels():
                for slot in range(self.program.parallelism):
                    out.add(level, slot, control)
            bundles += out.take_all()
        return bundles

    def _level(self, level: int, bundles: list[Bundle], timestamp: int) -> list[Bundle]:
        self._random.shuffle(bundles)
        result: list[Bundle] = []
        for slot in range(self.program.parallelism):
            mine = [(to, blob) for at, to, blob in bundles if at == slot]
            result += self._hosts[level, slot].run(mine, timestamp)
        return result

    def _sink(self, bundles: list[Bundle]) -> list[list[Any]]:
        prepared: list[list[Any]] = [[] for _ in self.program.sinks]
        self.reports = []
        for number, sink in enumerate(self.program.sinks):
            writer = sink.writer(WriteTask(self.batch, 0, "0"))
            for _, level, blob in bundles:
                assert level == SINKS
                for frame in decode_bundle(blob):
                    if isinstance(frame, Report) and number == 0:
                        self.reports.append(frame)
                    if isinstance(frame, Output) and frame.sink == number:
                        tags = unpack_tags(frame.tags) if frame.tags else None
                        writer.write(unpack_body(frame.body), unpack_column(frame.timestamps), tags)
            if (message := writer.prepare()) is not None:
                prepared[number].append(message)
        return [sink.commit(self.batch, p) or [] for sink, p in zip(self.program.sinks, prepared, strict=True)]

    def watermarks(self) -> dict[str, int]:
        """Each operator's watermark after the last batch."""
        return {uid: w for host in self._hosts.values() for uid, w in host.meta.watermarks.items()}

    # -- snapshots

    def snapshot(self) -> bytes:
        """All state, clocks and timers."""
        slots = [
            (level, slot, msgspec.msgpack.encode(host.meta), dict(self._bases[level, slot].entries))
            for (level, slot), host in self._hosts.items()
        ]
        return msgspec.msgpack.encode({"batch": self.batch, "slots": slots})

    def restore(self, snapshot: bytes, place: Callable[[int, bytes], int] | None = None) -> None:
        """Takes up a snapshot's state in a job of the same shape."""
        saved = msgspec.msgpack.decode(snapshot)
        self.batch = saved["batch"]
        for level, slot, meta, entries in saved["slots"]:
            base = MemoryBase()
            base.entries.update(entries)
            self._open(level, slot, base, msgspec.msgpack.decode(meta, type=SlotMeta))

    def close(self) -> None:
        for host in self._hosts.values():
            host.close()



