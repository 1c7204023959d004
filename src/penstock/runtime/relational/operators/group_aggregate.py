"""GROUP BY without a window, and SELECT DISTINCT: one row per key, which is updated when rows of the key change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.aggregates.accumulators import Accumulators, AggregateSet
from penstock.runtime.relational.aggregates.multisets import TableMultisets
from penstock.runtime.relational.aggregates.running_counts import running_counts
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys, group_rows, key_hashes
from penstock.runtime.relational.operators.group_changes import Flags, changed_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import GroupAggregateSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import unpack
from penstock.runtime.relational.state.time_to_live import TimeToLive

_SWEPT_PER_BATCH = 1000


class GroupAggregateOperator(BaseOperator):
    """Keeps one entry per key: the number of its rows, and the accumulators of the calls. The row of an empty group is deleted.

    The values that DISTINCT, MIN and MAX must remember have entries of their own, because there may be many per key.
    """

    def __init__(self, spec: GroupAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key_types = [spec.input_types[i] for i in spec.keys]
        self._aggregates = AggregateSet(spec.calls, spec.input_types, spec.insert_only)
        self._ttl = TimeToLive(spec.ttl)
        self._swept = b""

    def open(self, context: OperatorContext) -> None:
        calls = [f"{c.function}({', '.join(map(str, c.argument_types))}) {c.type}" for c in self._spec.calls]
        schema = self._ttl.schema(f"aggregate {'changelog' if not self._spec.insert_only else 'insert-only'} {calls}")
        self._groups = KeyedTable(context, "groups", schema)
        self._values = KeyedTable(context, "values", schema) if self._aggregates.multiset_count else None
        self._aggregates.open()
        runtime = context.runtime
        self._emits_empty = runtime.in_batch_mode and not self._spec.keys and self._owns_global_group(runtime)

    @staticmethod
    def _owns_global_group(runtime: Any) -> bool:
        """Whether the only key of an aggregate without keys belongs to this slot."""
        most = runtime.get_max_number_of_parallel_subtasks()
        group = int(key_hashes(encode_keys([], [], 1))[0]) % most
        owner = group * runtime.get_number_of_parallel_subtasks() // most
        return bool(owner == runtime.get_index_of_this_subtask())

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output = Output()
        self._ttl.now = advance.now
        given = inputs[0]
        if len(given):
            output.add(self._process(given.changes), int(given.watermarks[-1]))
        elif self._emits_empty:
            output.add(Changes(self._aggregates.results(self._aggregates.create(1)), 1), advance.end)
        self._emits_empty = False
        self._sweep()
        return output

    def _process(self, rows: Changes) -> Changes:
        key_columns = [rows.columns[i] for i in self._spec.keys]
        groups = group_rows(key_columns, rows.length)
        first = pa.array(groups.first)
        key_columns = [column.take(first) for column in key_columns]
        keys = encode_keys(key_columns, self._key_types, len(groups))
        entries = self._groups.prefixes(keys)
        stored = self._groups.get_many(entries)
        known = [None if data is None else unpack(data) for data in map(self._ttl.unwrap, stored)]
        values = [] if self._values is None else self._values.prefixes(keys)
        if self._ttl.milliseconds:
            self._forget([p for p, s, k in zip(values, stored, known, strict=False) if s is not None and k is None])

        counts = np.array([0 if k is None else k[0] for k in known], np.int64)
        accumulators = [None if k is None else k[1] for k in known]
        before = counts > 0
        old = self._load(accumulators, values)
        old_results = self._aggregates.results(old)
        codes, counted, emptied = self._live_rows(groups.codes, rows, counts)
        for group in emptied.tolist():
            accumulators[group] = None
        if len(emptied):
            self._forget([values[group] for group in emptied.tolist() if before[group]] if values else [])
            old = self._load(accumulators, values)
        self._aggregates.accumulate(old, codes, counted)
        after = counts > 0
        self._write(entries, counts, before, after, old)
        return self.emitted(key_columns, old_results, self._aggregates.results(old), before, after)

    def emitted(
        self,
        keys: Sequence[pa.Array],
        old: Sequence[pa.Array],
        new: Sequence[pa.Array],
        before: Flags,
        after: Flags,
    ) -> Changes:
        """Returns the changes of groups, given their results before and after the batch, and whether they exist."""
        always, update_before = self._spec.ttl > 0, self._spec.update_before
        return changed_rows(keys, old, new, before, after, always=always, update_before=update_before)

    def _load(self, accumulators: Sequence[list[Any] | None], values: Sequence[bytes]) -> Accumulators:
        if self._values is None:
            return self._aggregates.load(accumulators)
        slots = range(self._aggregates.multiset_count)
        return self._aggregates.load(accumulators, [TableMultisets(self._values, values, slot) for slot in slots])

    def _live_rows(
        self, codes: NDArray[np.int64], rows: Changes, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Changes, NDArray[np.int64]]:
        """Counts the rows of groups in `counts`, and returns the rows that matter and the groups that were empty in between.

        A group that becomes empty starts again, so only the rows after its last such moment matter.
        """
        if self._spec.insert_only or rows.kinds is None:
            counts += np.bincount(codes, minlength=len(counts))
            return codes, rows, np.zeros(0, np.int64)
        _, after = running_counts(codes, rows.signs(), counts)
        counts[codes] = after  # the last row of each group wins
        empty = np.flatnonzero(after == 0)
        if not len(empty):
            return codes, rows, empty
        last = np.full(len(counts), -1, np.int64)
        last[codes[empty]] = empty
        live = np.flatnonzero(np.arange(rows.length) > last[codes])
        return codes[live], rows.take(live), np.flatnonzero(last >= 0)

    def _write(
        self,
        entries: Sequence[bytes],
        counts: NDArray[np.int64],
        before: NDArray[np.bool_],
        after: NDArray[np.bool_],
        groups: Accumulators,
    ) -> None:
        put, wrap, pack = self._groups.put, self._ttl.wrap, self._aggregates.pack
        facts = zip(
            entries, counts.tolist(), before.tolist(), after.tolist(), self._aggregates.dump(groups), strict=True
        )
        for entry, count, was, remains, accumulators in facts:
            if remains:
                put(entry, wrap(pack([count, accumulators])))
            elif was:
                put(entry, None)

    # -- removal

    def _forget(self, prefixes: Sequence[bytes]) -> None:
        """Removes the values of groups that start again."""
        if self._values is None:
            return
        found = [prefix + key for prefix in prefixes for key, _ in self._values.scan(prefix)]
        for entry in found:
            self._values.put(entry, None)

    def _sweep(self) -> None:
        """Removes some groups that have expired, with their values, and continues there in the next batch."""
        if not self._ttl.milliseconds:
            return
        looked_at = list(itertools.islice(self._groups.scan_from(self._swept), _SWEPT_PER_BATCH + 1))
        self._swept = looked_at[-1][0] if len(looked_at) > _SWEPT_PER_BATCH else b""
        limit = self._ttl.now - self._ttl.milliseconds
        expired = [entry for entry, data in looked_at[:_SWEPT_PER_BATCH] if int.from_bytes(data[:8], "big") <= limit]
        if self._values is not None:
            self._forget(self._values.prefixes([entry[4:] for entry in expired]))
        for entry in expired:
            self._groups.put(entry, None)
