"""The last committed batches of a slot, in memory on top of its working copy.

Writing each batch into the working copy immediately would cost a page of its file for every key. When many batches are written
at once, keys share pages. Until then they are read from memory. A worker that lacks some of them reads them from the disk.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

import msgspec

from penstock.runtime.state.store import Changes, ReadView
from penstock.spark.state.overlay_view import OverlayView

_WORTH_WRITING = 200_000  # entries
_MAX_BATCHES = 16  # that stay in memory only: a worker that is new to a slot has to read them all
_FEW = 64
_MAX_ENTRIES = 400_000  # in memory at the start of a batch; with more, the working copy is updated first


class CommittedDelta(msgspec.Struct):
    """The changes of a batch that is known to be committed."""

    changes: Changes
    seq: int
    token: bytes
    previous: bytes  # the token of the batch before it
    growth: int = 0  # bytes by which it changes the size of the state


class CopyPosition(msgspec.Struct, frozen=True):
    """The position of a working copy."""

    seq: int  # of the last delta that was applied
    token: bytes = b""  # of that delta
    partial: bytes = b""  # the token of a later delta that was applied in part


class DeltaGroup:
    """The merged changes of consecutive batches."""

    __slots__ = ("_sorted_keys", "batches", "changes", "closed", "seq")

    def __init__(self, delta: CommittedDelta) -> None:
        self.changes: Changes = dict(delta.changes)
        self.seq = delta.seq  # of the last batch
        self.batches = 1
        self.closed = False  # it is being written into the working copy
        self._sorted_keys: list[bytes] | None = None

    def add(self, delta: CommittedDelta) -> None:
        if self._sorted_keys is not None:
            new = [key for key in delta.changes if key not in self.changes]
            if len(new) < _FEW:
                for key in new:
                    insort(self._sorted_keys, key)
            else:
                self._sorted_keys += sorted(new)
                self._sorted_keys.sort()  # Python merges two sorted runs in one pass
        self.changes.update(delta.changes)
        self.seq = delta.seq
        self.batches += 1

    def sorted_keys(self) -> list[bytes]:
        """Returns the keys in order. The list is kept because operators with timers read a range in every batch."""
        if self._sorted_keys is None:
            self._sorted_keys = sorted(self.changes)
        return self._sorted_keys


ReadDelta = Callable[[int, bytes], CommittedDelta | None]


class ChainLink(msgspec.Struct, frozen=True):
    """One batch of the chain of tokens. Batches with the same number and other tokens belong to another history."""

    seq: int
    token: bytes
    previous: bytes
    growth: int


class UncompactedDeltas:
    """The batches of a slot that one worker holds in memory."""

    def __init__(self) -> None:
        self._groups: list[DeltaGroup] = []
        self._chain: list[ChainLink] = []
        self._own: CommittedDelta | None = (
            None  # what this worker wrote last; the next header shows whether it is valid
        )

    def set_own_delta(self, delta: CommittedDelta) -> None:
        """Keeps the delta of the batch that this worker has run, so that it need not be read."""
        self._own = delta

    def clear(self) -> None:
        self._groups, self._chain = [], []

    def extend_to(self, position: CopyPosition, seq: int, token: bytes, read: ReadDelta) -> bool:
        """Adds the deltas that a working copy lacks, up to the batch with this number and token.

        Returns False if the copy belongs to another history, or if a delta that it lacks can no longer be read.
        """
        missing: list[CommittedDelta] = []
        known = {link.seq: link.token for link in self._chain}
        at, expected = seq, token
        while at > position.seq and known.get(at) != expected:
            own = self._own
            delta = own if own is not None and (own.seq, own.token) == (at, expected) else read(at, expected)
            if delta is None:
                return False
            missing.append(delta)
            at, expected = at - 1, delta.previous
        if self._chain and (self._chain[-1].seq, self._chain[-1].token) != (at, expected):
            self.clear()  # the chain continued on another history
            if at > position.seq:
                return self.extend_to(position, seq, token, read)
        if not self._chain and expected != position.token:
            return False
        for delta in reversed(missing):
            self._add(delta)
        return self.completes(position)

    def _add(self, delta: CommittedDelta) -> None:
        self._chain.append(ChainLink(delta.seq, delta.token, delta.previous, delta.growth))
        if self._groups and not self._groups[-1].closed:
            self._groups[-1].add(delta)
        else:
            self._groups.append(DeltaGroup(delta))

    def completes(self, position: CopyPosition) -> bool:
        """Whether a copy at a position, with these deltas on top of it, is the state after the last batch.

        The copy may contain some of them, or parts of them. Applying a delta twice changes nothing.
        """
        if not self._chain:
            return False
        tokens = self.tokens()
        return position.token in (self._chain[0].previous, *tokens) and position.partial in (b"", *tokens)

    def drop_applied(self, position: CopyPosition) -> None:
        """Drops the deltas that the working copy contains. A group that is being applied is closed."""
        self._groups = [group for group in self._groups if group.seq > position.seq]
        self._chain = [link for link in self._chain if link.seq > position.seq]
        if self._groups and position.partial:
            self._groups[0].closed = True

    @property
    def is_empty(self) -> bool:
        return not self._groups

    def is_too_large(self) -> bool:
        return sum(len(group.changes) for group in self._groups) > _MAX_ENTRIES

    def is_worth_writing(self) -> bool:
        if not self._groups or self._groups[-1].closed:
            return False
        last = self._groups[-1]
        return len(last.changes) >= _WORTH_WRITING or last.batches >= _MAX_BATCHES

    def merge(self) -> CommittedDelta:
        """Returns all deltas as one, and closes the groups."""
        for group in self._groups:
            group.closed = True
        last = self._chain[-1]
        return CommittedDelta(self.changes(), last.seq, last.token, self._chain[0].previous)

    def tokens(self) -> list[bytes]:
        """Returns the tokens of all batches, the oldest first."""
        return [link.token for link in self._chain]

    def growth_after(self, position: CopyPosition) -> int:
        """Returns by how many bytes the batches after a position change the size of the state."""
        return sum(link.growth for link in self._chain if link.seq > position.seq)

    def changes(self) -> Changes:
        """Returns the changes of all batches, merged."""
        if len(self._groups) == 1:
            return self._groups[0].changes
        merged: Changes = {}
        for group in self._groups:
            merged.update(group.changes)
        return merged

    def overlay(self, view: ReadView) -> ReadView:
        """Returns a view of the working copy with all deltas on top of it."""
        for group in self._groups:
            view = OverlayView(view, group.changes, group.sorted_keys)
        return view
