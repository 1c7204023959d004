"""The last committed batches of a slot, in memory over its working copy.

To write a batch's changes into the working copy at once would cost a page of its file for every key. Written many batches at a
time, keys share pages. Until then they are read from here; a worker that lacks some of them reads them from its machine's disk.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

import msgspec

from penstock.runtime.store import Base, Changes
from penstock.spark.overlaid import OverlaidView

_ENOUGH = 200_000  # entries that are worth writing,
_BATCHES = 16  # or so many batches: a worker that comes new to a slot reads them all
_FEW = 64
_TOO_MANY = 400_000  # entries that a batch does not begin with: the working copy is behind, and has to catch up first


class Committed(msgspec.Struct):
    """A batch's changes that are known to be committed; tokens chain the batches."""

    changes: Changes
    seq: int
    token: bytes
    before: bytes  # the token of the batch before it


class Position(msgspec.Struct, frozen=True):
    """Where a working copy stands."""

    seq: int  # of the last delta applied
    token: bytes = b""  # its token
    partial: bytes = b""  # the token of a later delta of which a part was applied


class Generation:
    """Changes of batches that follow each other, as one."""

    __slots__ = ("_ordered", "batches", "changes", "closed", "seq")

    def __init__(self, delta: Committed) -> None:
        self.changes: Changes = dict(delta.changes)
        self.seq = delta.seq  # of the last batch
        self.batches = 1
        self.closed = False  # it is being written into the working copy
        self._ordered: list[bytes] | None = None

    def add(self, delta: Committed) -> None:
        if self._ordered is not None:
            new = [key for key in delta.changes if key not in self.changes]
            if len(new) < _FEW:
                for key in new:
                    insort(self._ordered, key)
            else:
                self._ordered += sorted(new)
                self._ordered.sort()  # two runs that are in order: merged in one pass
        self.changes.update(delta.changes)
        self.seq = delta.seq
        self.batches += 1

    def ordered(self) -> list[bytes]:
        """The keys in their order; kept, since operators with timers ask for a range in every batch."""
        if self._ordered is None:
            self._ordered = sorted(self.changes)
        return self._ordered


Read = Callable[[int, bytes], Committed | None]


class Link(msgspec.Struct, frozen=True):
    """One batch of the chain: tokens tell histories apart."""

    seq: int
    token: bytes
    before: bytes


class Recent:
    """What of a slot's state one worker holds in memory."""

    def __init__(self) -> None:
        self._generations: list[Generation] = []
        self._chain: list[Link] = []
        self._own: Committed | None = None  # what this worker wrote last; whether it counts the next header says

    def remember(self, delta: Committed) -> None:
        """A batch that this worker has run, so that its delta need not be read."""
        self._own = delta

    def clear(self) -> None:
        self._generations, self._chain = [], []

    def follow(self, position: Position, seq: int, token: bytes, read: Read) -> bool:
        """Takes in what a working copy at a position lacks of the batch with this number and token.

        False: the copy stands on another history, or what it lacks can no longer be read.
        """
        missing: list[Committed] = []
        known = {link.seq: link.token for link in self._chain}
        at, wanted = seq, token
        while at > position.seq and known.get(at) != wanted:
            own = self._own
            delta = own if own is not None and (own.seq, own.token) == (at, wanted) else read(at, wanted)
            if delta is None:
                return False
            missing.append(delta)
            at, wanted = at - 1, delta.before
        if self._chain and (self._chain[-1].seq, self._chain[-1].token) != (at, wanted):
            self.clear()  # it went on from there, on another history
            if at > position.seq:
                return self.follow(position, seq, token, read)
        if not self._chain and wanted != position.token:
            return False
        for delta in reversed(missing):
            self._chain.append(Link(delta.seq, delta.token, delta.before))
            if self._generations and not self._generations[-1].closed:
                self._generations[-1].add(delta)
            else:
                self._generations.append(Generation(delta))
        return self.shows(position)

    def shows(self, position: Position) -> bool:
        """Whether a copy at a position, with all this laid over it, is the state after the last batch.

        It may have taken some of it, some in part: laid over itself it changes nothing.
        """
        if not self._chain:
            return False
        tokens = self.tokens()
        return position.token in (self._chain[0].before, *tokens) and position.partial in (b"", *tokens)

    def forget(self, position: Position) -> None:
        """Drops what the working copy has taken; what it is taking now gets no more added to it."""
        self._generations = [g for g in self._generations if g.seq > position.seq]
        self._chain = [link for link in self._chain if link.seq > position.seq]
        if self._generations and position.partial:
            self._generations[0].closed = True

    @property
    def is_empty(self) -> bool:
        return not self._generations

    def is_too_large(self) -> bool:
        return sum(len(g.changes) for g in self._generations) > _TOO_MANY

    def is_worth_writing(self) -> bool:
        if not self._generations or self._generations[-1].closed:
            return False
        last = self._generations[-1]
        return len(last.changes) >= _ENOUGH or last.batches >= _BATCHES

    def whole(self) -> Committed:
        """All of it as one delta; from now on nothing is added to what is in it."""
        for generation in self._generations:
            generation.closed = True
        last = self._chain[-1]
        return Committed(self.changes(), last.seq, last.token, self._chain[0].before)

    def tokens(self) -> list[bytes]:
        """Of all batches in it, the oldest first."""
        return [link.token for link in self._chain]

    def changes(self) -> Changes:
        """All of it, later batches on top of earlier ones."""
        if len(self._generations) == 1:
            return self._generations[0].changes
        merged: Changes = {}
        for generation in self._generations:
            merged.update(generation.changes)
        return merged

    def over(self, view: Base) -> Base:
        """A view of the working copy with all this laid over it."""
        for generation in self._generations:
            view = OverlaidView(view, generation.changes, generation.ordered)
        return view
