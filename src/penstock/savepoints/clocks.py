"""The clocks (watermarks and idle splits) in a savepoint, looked up by uid, because operators may have changed their level."""

from __future__ import annotations

import msgspec

from penstock.engine.program.program import Program, StreamProgram
from penstock.engine.slots.slot_metadata import SlotMetadata, UpstreamClock
from penstock.runtime.loop.channels import Channel, SplitTable
from penstock.savepoints.manifest import Manifest, SavedLevel
from penstock.time import MIN_WATERMARK


def saved_level(level: int, meta: SlotMetadata) -> SavedLevel:
    """The clocks of a slot for the manifest. All slots of a level have the same clocks."""
    clocks = msgspec.structs.replace(meta, tables=[], broadcast={}, key_forms={})
    return SavedLevel(level, msgspec.Raw(msgspec.json.encode(clocks)), dict(meta.broadcast))


def read_clocks(saved: SavedLevel) -> SlotMetadata:
    """The clocks of a level in a manifest."""
    return msgspec.json.decode(saved.clocks, type=SlotMetadata)


class SavedClocks:
    """The clocks of all levels of a savepoint.

    A savepoint that was taken with a drain has emitted the final watermark. As in Flink, a job that starts from it starts with
    new watermarks.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self.batch = 0
        self.now = MIN_WATERMARK
        self.broadcast: dict[str, int] = {}
        self._streams: dict[tuple[str, str, str], SplitTable] = {}
        self._edges: dict[str, Channel] = {}
        self._watermarks: dict[str, int] = {}
        for level in manifest.levels:
            self._add(read_clocks(level), level.broadcast)

    def _add(self, meta: SlotMetadata, broadcast: dict[str, int]) -> None:
        self.batch = max(self.batch, meta.batch)
        self.now = max(self.now, meta.now)
        self.broadcast |= broadcast
        if self._manifest.ended == "drain":
            return
        for uid, table in meta.streams.items():
            merged = self._streams.setdefault(self._saved_name(uid), SplitTable({}, table.idle_timeout))
            for split, channel in table.splits.items():
                if split not in merged.splits or merged.splits[split].mark < channel.mark:
                    merged.splits[split] = channel
        self._edges |= {uid: edge.channel for uid, edge in meta.edges.items()}
        self._watermarks |= meta.watermarks

    def _saved_name(self, uid: str) -> tuple[str, str, str]:
        """The name of a stream with uids. The stored name of a watermark step has numbers, which differ in a changed job."""
        step, at, inputs = uid.rpartition("@")
        source, slash, operator = inputs.partition("/")
        if not at or not slash or not source.lstrip("-").isdigit() or not operator.lstrip("-").isdigit():
            return uid, "", ""
        sources = {s.number: s.uid for s in self._manifest.sources}
        operators = dict(enumerate(o.uid for o in self._manifest.operators))
        return step, sources.get(int(source), ""), operators.get(int(operator), "")

    def meta(self, program: Program, level: int) -> SlotMetadata:
        """The clocks that slots of a level start with."""
        meta = SlotMetadata(batch=self.batch, now=self.now)
        for stream in program.streams:
            if level in stream.levels:
                table = self._streams.get(_name(program, stream))
                if table is not None:
                    meta.streams[stream.uid] = SplitTable(
                        {split: msgspec.structs.replace(channel) for split, channel in table.splits.items()},
                        stream.idle_timeout,
                    )
        for operator in program.operators:
            if operator.level == level and operator.uid in self._watermarks:
                meta.watermarks[operator.uid] = self._watermarks[operator.uid]
            if level in operator.relay_levels and (channel := self._channel(operator.uid)) is not None:
                meta.edges[operator.uid] = UpstreamClock(channel, self.batch - 1)
        return meta

    def _channel(self, uid: str) -> Channel | None:
        """The last watermark that an operator sent to other levels; None if it sent none."""
        if uid in self._edges:
            return msgspec.structs.replace(self._edges[uid])
        return Channel(mark=self._watermarks[uid]) if uid in self._watermarks else None


def _name(program: Program, stream: StreamProgram) -> tuple[str, str, str]:
    step, at, inputs = stream.uid.rpartition("@")
    if not at or inputs != f"{stream.source}/{stream.operator}":
        return stream.uid, "", ""
    source = program.sources[stream.source].uid if stream.source >= 0 else ""
    operator = program.operators[stream.operator].uid if stream.operator >= 0 else ""
    return step, source, operator
