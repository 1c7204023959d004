"""The clocks of a savepoint, found again by uid: a changed job may have put an operator on another level."""

from __future__ import annotations

import msgspec

from penstock.engine.program import Program, StreamProgram
from penstock.engine.slot_meta import Edge, SlotMeta
from penstock.runtime.channels import Channel, SplitTable
from penstock.savepoints.manifest import Manifest, SavedLevel
from penstock.time import MIN_WATERMARK


def saved_level(level: int, meta: SlotMeta) -> SavedLevel:
    """A slot's clocks, as a savepoint keeps them; those of the other slots are equal."""
    clocks = msgspec.structs.replace(meta, tables=[], broadcast={})
    return SavedLevel(level, msgspec.Raw(msgspec.json.encode(clocks)), dict(meta.broadcast))


def clocks_of(saved: SavedLevel) -> SlotMeta:
    """The clocks of a level as they were."""
    return msgspec.json.decode(saved.clocks, type=SlotMeta)


class Clocks:
    """What all levels of a savepoint knew of time.

    A savepoint that was taken with a drain has sent the end of time: who starts from it begins time anew, as in Flink.
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
            self._add(clocks_of(level), level.broadcast)

    def _add(self, meta: SlotMeta, broadcast: dict[str, int]) -> None:
        self.batch = max(self.batch, meta.batch)
        self.now = max(self.now, meta.now)
        self.broadcast |= broadcast
        if self._manifest.ended == "drain":
            return
        for uid, table in meta.streams.items():
            known = self._streams.setdefault(self._saved_name(uid), SplitTable({}, table.idle_timeout))
            for split, channel in table.splits.items():
                if split not in known.splits or known.splits[split].mark < channel.mark:
                    known.splits[split] = channel
        self._edges |= {uid: edge.channel for uid, edge in meta.edges.items()}
        self._watermarks |= meta.watermarks

    def _saved_name(self, uid: str) -> tuple[str, str, str]:
        """A watermark step's stream is called by the numbers of what it reads; uids say the same in a changed job."""
        step, at, place = uid.rpartition("@")
        source, slash, operator = place.partition("/")
        if not at or not slash or not source.lstrip("-").isdigit() or not operator.lstrip("-").isdigit():
            return uid, "", ""
        sources = {s.number: s.uid for s in self._manifest.sources}
        operators = dict(enumerate(o.uid for o in self._manifest.operators))
        return step, sources.get(int(source), ""), operators.get(int(operator), "")

    def meta(self, program: Program, level: int) -> SlotMeta:
        """The clocks that the slots of a level of a job start with."""
        meta = SlotMeta(batch=self.batch, now=self.now)
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
                meta.edges[operator.uid] = Edge(channel, self.batch - 1)
        return meta

    def _channel(self, uid: str) -> Channel | None:
        """What an operator told those behind it; one that had nobody behind it on another level told nothing."""
        if uid in self._edges:
            return msgspec.structs.replace(self._edges[uid])
        return Channel(mark=self._watermarks[uid]) if uid in self._watermarks else None


def _name(program: Program, stream: StreamProgram) -> tuple[str, str, str]:
    step, at, place = stream.uid.rpartition("@")
    if not at or place != f"{stream.source}/{stream.operator}":
        return stream.uid, "", ""
    source = program.sources[stream.source].uid if stream.source >= 0 else ""
    operator = program.operators[stream.operator].uid if stream.operator >= 0 else ""
    return step, source, operator
