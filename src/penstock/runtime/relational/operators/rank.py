"""Top-N: the first rows of each key by an order, as a maintained result."""

from __future__ import annotations

from itertools import islice

import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.operators.rank_changes import SEQUENCE, RankChanges, RankedRow, with_ranks
from penstock.runtime.relational.operators.rank_rows import KeyFacts, RankRows
from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.sorting.positions import positions_by_group
from penstock.runtime.relational.specs.operators import RankSpec
from penstock.runtime.relational.state.emitted_rows import EmittedRows
from penstock.runtime.relational.state.row_codec import RowCodec
from penstock.runtime.relational.state.time_to_live import TimeToLive


def rank_operator(spec: RankSpec) -> RankOperator:
    """Returns the operator of a specification."""
    return RankOperator(spec)


class RankOperator(BaseOperator):
    """Keeps the rows of each key in order and emits what changes among the first ones.

    Of an insert-only input, and of one whose updates only move rows towards the top, only the first N rows are stored.
    """

    def __init__(self, spec: RankSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)
        self._ttl = TimeToLive(spec.ttl)
        self._upserts = bool(spec.upsert_key) and not spec.insert_only
        self._forgets = spec.insert_only or (self._upserts and spec.monotone)
        self._simple = spec.function == "ROW_NUMBER"
        self._numbered = spec.outputs_rank or spec.start > 1

    def open(self, context: OperatorContext) -> None:
        self._rows = RankRows(context, self._ttl, self._upserts)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output, rows = Output(), inputs[0]
        self._ttl.now = advance.now
        if len(rows):
            batch = _Batch(self._spec, self._codec, rows.changes, self._upserts)
            ranks: list[int] = []
            spec = self._spec
            changes = RankChanges(
                batch.emitted,
                ranks,
                start=spec.start,
                numbered=self._numbered,
                updates_top=self._forgets,
                update_before=spec.update_before,
            )
            prefixes, index = self._rows.prefixes(batch.keys)
            for key, positions in enumerate(batch.positions):
                if spec.insert_only:
                    self._insert(prefixes[key], positions, batch, changes)
                else:
                    self._change(prefixes[key], index[key] if index else b"", positions, batch, changes)
            stored = self._rows.new_positions()
            upsert_keys = [batch.upsert_keys[p] for p in stored] if self._upserts else None
            self._rows.write(batch.encode(stored), upsert_keys)
            if len(batch.emitted):
                emitted, causes = batch.emitted.finish(*([pa.array(ranks, pa.int64())] if spec.outputs_rank else []))
                output.add(emitted, rows.watermarks[causes])
        self._rows.sweep()
        return output

    def _end(self, facts: KeyFacts, batch: _Batch, position: int) -> int:
        """The N of a key: with a column, that of its first row."""
        if self._spec.end_column < 0:
            return self._spec.end
        if facts.end < 0:
            facts.end = max(batch.changes.columns[self._spec.end_column][position].as_py() or 0, 0)
        return facts.end

    def _insert(self, prefix: bytes, positions: list[int], batch: _Batch, changes: RankChanges) -> None:
        """Adds rows of an insert-only input: all that do not come among the first are dropped at once."""
        known = self._rows.facts(prefix)
        facts = known or KeyFacts()
        end = self._end(facts, batch, positions[0])
        sort_keys = batch.sort_keys
        new = positions if len(positions) == 1 else sorted(positions, key=sort_keys.__getitem__)
        if self._simple:
            if not self._spec.ttl and facts.count >= end:
                last = facts.last[:-SEQUENCE]
                new = [p for p in new[:end] if sort_keys[p] < last]
            else:
                new = new[:end]
        if not new:
            if known is None:
                self._rows.put_facts(prefix, facts)
            return
        added = [RankedRow(sort_keys[p] + facts.number(), p) for p in new]
        # Without ranks only the rows from the first new one on can change, and none if there is room for all.
        part = self._simple and not self._numbered and not self._spec.ttl
        if known is None or (part and facts.count + len(new) <= end):
            old = []
        else:
            old = list(self._rows.scan(prefix, start=added[0].sub_key if part else b"\0"))
        before = facts.count - len(old) if part else 0
        merged = sorted(old + added)
        if self._simple:
            kept = merged[: end - before]
            changes.row_numbers(old, kept, {}, max(new), end == 1)
        else:
            ranked = list(with_ranks(merged, self._spec.function, end))
            changes.ranks(list(with_ranks(old, self._spec.function, end)), ranked, max(new))
            kept = [row for row, _ in ranked]
        for row in merged[len(kept) :]:
            if isinstance(row.row, bytes):
                self._rows.remove(prefix + row.sub_key)
        for row in kept:
            if isinstance(row.row, int):
                self._rows.add(prefix + row.sub_key, row.row)
        last = kept[-1].sub_key if kept else b""
        facts.count, facts.last = before + len(kept), last if old else max(last, facts.last)
        self._rows.put_facts(prefix, facts)

    def _change(self, prefix: bytes, index: bytes, positions: list[int], batch: _Batch, changes: RankChanges) -> None:
        """Applies changes of an updating input."""
        known = self._rows.facts(prefix)
        facts = known or KeyFacts()
        end = self._end(facts, batch, positions[0])
        key = _ChangedKey(self._rows, prefix, index, facts, batch)
        for position in positions:
            if self._upserts:
                key.upsert(position)
            elif batch.adds[position]:
                key.insert(position)
            else:
                key.retract(position)
        if not key.added and not key.removed:
            return
        self._emit(key, end, changes, positions[-1])
        key.write()
        self._rows.put_facts(prefix, facts)

    def _emit(self, key: _ChangedKey, end: int, changes: RankChanges, cause: int) -> None:
        stored = self._rows.scan(key.prefix)
        gone = key.removed | key.added.keys()
        added = [RankedRow(sub_key, row) for sub_key, row in key.added.items()]
        if not self._simple:
            every = list(stored)
            merged = sorted([row for row in every if row.sub_key not in gone] + added)
            function = self._spec.function
            changes.ranks(list(with_ranks(every, function, end)), list(with_ranks(merged, function, end)), cause)
            return
        old = list(islice(stored, end))
        kept = [row for row in old if row.sub_key not in gone]
        for row in stored:  # rows that come up for those that left
            if len(kept) >= end:
                break
            if row.sub_key not in gone:
                kept.append(row)
        merged = sorted(kept + added)
        changes.row_numbers(old, merged[:end], key.replaced(), cause, end == 1)
        if self._forgets:
            key.forget(merged[end:])


class _Batch:
    """The rows of a batch and what is computed once for all of them."""

    def __init__(self, spec: RankSpec, codec: RowCodec, changes: Changes, upserts: bool) -> None:
        columns, types = changes.columns, spec.input_types
        groups = group_rows([columns[i] for i in spec.keys], changes.length)
        first = pa.array(groups.first)
        self.changes = changes
        self.keys = encode_keys([columns[i].take(first) for i in spec.keys], [types[i] for i in spec.keys], len(groups))
        self.positions = positions_by_group(groups)
        self.sort_keys = ordered_bytes(columns, spec.order, changes.length)
        self.adds: list[bool] = (changes.signs() > 0).tolist()
        self.emitted = EmittedRows(changes, codec)
        self._codec = codec
        self.encoded = [] if spec.insert_only or upserts else codec.encode(columns)
        self.upsert_keys: list[bytes] = []
        if upserts:
            key = spec.upsert_key
            self.upsert_keys = encode_keys([columns[i] for i in key], [types[i] for i in key], changes.length)

    def encode(self, positions: list[int]) -> list[bytes]:
        """Returns the bytes of some rows."""
        if self.encoded:
            return [self.encoded[p] for p in positions]
        if not positions:
            return []
        at = pa.array(positions)
        return self._codec.encode([c.take(at) for c in self.changes.columns])


class _ChangedKey:
    """The changes of one key in a batch: sub keys of stored rows that leave, and of rows that come."""

    def __init__(self, rows: RankRows, prefix: bytes, index: bytes, facts: KeyFacts, batch: _Batch) -> None:
        self._rows = rows
        self.prefix = prefix
        self._index = index
        self._facts = facts
        self._batch = batch
        self.removed: set[bytes] = set()
        self.added: dict[bytes, int] = {}
        self._overwritten: set[bytes] = set()  # stored rows that were updated in place
        self._stored_places: dict[bytes, bytes | None] = {}  # by upsert key, before the batch
        self._places: dict[bytes, bytes | None] = {}  # by upsert key, now

    def insert(self, position: int) -> bytes:
        """Adds a row after all rows with the same sort key."""
        sub_key = self._batch.sort_keys[position] + self._facts.number()
        self.added[sub_key] = position
        return sub_key

    def retract(self, position: int) -> None:
        """Removes the first row that equals a row. If there is none, nothing happens."""
        batch = self._batch
        sort_key, row = batch.sort_keys[position], batch.encoded[position]
        for found in self._rows.scan(self.prefix, sort_key):
            if found.row == row and found.sub_key not in self.removed:
                self.removed.add(found.sub_key)
                return
        for sub_key, other in self.added.items():
            if batch.encoded[other] == row and sub_key[:-SEQUENCE] == sort_key:
                del self.added[sub_key]
                return

    def upsert(self, position: int) -> None:
        """Adds, replaces or removes the row with the same upsert key. With the same sort key it keeps its place."""
        batch, key = self._batch, self._batch.upsert_keys[position]
        if key not in self._places:
            self._places[key] = self._stored_places[key] = self._rows.sub_key(self._index + key)
        place = self._places[key]
        if not batch.adds[position]:
            self._leave(place)
            self._places[key] = None
        elif place is not None and place[:-SEQUENCE] == batch.sort_keys[position]:
            if place not in self.added:
                self._overwritten.add(place)
            self.added[place] = position
        else:
            self._leave(place)
            self._places[key] = self.insert(position)

    def _leave(self, place: bytes | None) -> None:
        if place is None:
            return
        if self.added.pop(place, None) is None or place in self._overwritten:
            self.removed.add(place)

    def replaced(self) -> dict[int, bytes]:
        """Returns the sub keys of stored rows by the position of the row that replaces them."""
        pairs = ((self._places[key], stored) for key, stored in self._stored_places.items() if stored is not None)
        return {self.added[place]: stored for place, stored in pairs if place in self.added}

    def forget(self, rows: list[RankedRow]) -> None:
        """Drops rows that can never come among the first again."""
        for row in rows:
            if isinstance(row.row, int):
                key = self._batch.upsert_keys[row.row]
                self._leave(row.sub_key)
            else:
                key = self._rows.upsert_key(self.prefix + row.sub_key)
                self._stored_places.setdefault(key, row.sub_key)
                self.removed.add(row.sub_key)
            self._places[key] = None

    def write(self) -> None:
        """Hands all changes to the table."""
        for sub_key in self.removed:
            self._rows.remove(self.prefix + sub_key)
        for sub_key, position in self.added.items():
            self._rows.add(self.prefix + sub_key, position)
        for key, place in self._places.items():
            if place != self._stored_places[key] or (place is not None and place in self.added):
                self._rows.put_index(self._index + key, place)
