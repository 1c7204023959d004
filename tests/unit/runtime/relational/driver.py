"""Runs a relational operator on batches of rows, and restarts it from its state.

A row is a tuple, or a kind and a tuple: `("+I", ("a", 1))`. Values are those of `expressions/values.py`.
The store, its tables and the encoding of state are the real ones.

    slot = RelationalSlot(spec)
    slot.run([("+I", ("a", 1)), ("-D", ("b", 2))])       # [("+I", ("a", 1)), ...]
    slot.run([...], watermark=1000)                      # the watermark after the batch
    slot.restart()                                       # the next batch starts from the stored state
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import FunctionRuntimeContext, OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.operators.factory import make_relational_operator
from penstock.runtime.relational.operators.operator import Input, RelationalOperator
from penstock.runtime.relational.specs.operators import AnyOperatorSpec
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.runtime.state.timers import TimerQueue
from penstock.time import MIN_WATERMARK
from penstock.types.logical.kinds import LogicalType

KINDS = ("+I", "-U", "+U", "-D")
Row = tuple[Any, ...]
Change = tuple[str, Row]


def as_change(row: Row | Change) -> Change:
    """Adds the kind of an insertion to a row without a kind."""
    if len(row) == 2 and row[0] in KINDS and isinstance(row[1], tuple):
        return row
    return ("+I", row)


def to_changes(rows: Sequence[Row | Change], types: Sequence[LogicalType]) -> Changes:
    """Returns rows as columns."""
    pairs = [as_change(row) for row in rows]
    columns = [from_values([row[i] for _, row in pairs], t) for i, t in enumerate(types)]
    kinds = np.array([KINDS.index(kind) for kind, _ in pairs], np.int8)
    return Changes(columns, len(pairs), kinds if kinds.any() else None)


def from_changes(changes: Changes, types: Sequence[LogicalType]) -> list[Change]:
    """Returns columns as rows with their kinds."""
    values = [to_values(c, t) for c, t in zip(changes.columns, types, strict=True)]
    rows: Iterable[Row] = zip(*values, strict=True) if values else [()] * changes.length
    return [(KINDS[kind], row) for kind, row in zip(changes.all_kinds().tolist(), rows, strict=True)]


def final_table(changes: Iterable[Change]) -> dict[Row, int]:
    """Returns the table after all changes: how often each row is in it. -U and -D must find their row."""
    table: dict[Row, int] = {}
    for kind, row in changes:
        count = table.get(row, 0) + (1 if kind in ("+I", "+U") else -1)
        assert count >= 0, f"{kind} of a row that is not there: {row}"
        table[row] = count
    return {row: count for row, count in table.items() if count}


def final_upserts(changes: Iterable[Change], key: Callable[[Row], Any]) -> dict[Any, Row]:
    """Returns the last row of each key, for changes without -U."""
    table: dict[Any, Row] = {}
    for kind, row in changes:
        if kind in ("+I", "+U"):
            table[key(row)] = row
        else:
            table.pop(key(row), None)
    return table


class RelationalSlot:
    """One operator in one slot with one or more inputs.

    input_types: the types of each input; without it there is one input with the types of the specification.
    in_batch_mode: whether the complete input is one batch.
    """

    def __init__(
        self,
        spec: AnyOperatorSpec,
        *,
        input_types: Sequence[Sequence[LogicalType]] | None = None,
        output_types: Sequence[LogicalType] | None = None,
        in_batch_mode: bool = False,
    ) -> None:
        self.spec = spec
        self._input_types = [spec.input_types] if input_types is None else list(input_types)
        self._output_types = spec.output_types if output_types is None else output_types
        self._in_batch_mode = in_batch_mode
        self._base = MemoryView()
        self._tables = StateTables()
        self._number = 0
        self.watermark = MIN_WATERMARK
        self.now = 0
        self.restart()

    def restart(self) -> None:
        """Creates everything again except the committed state."""
        self._store = Store(self._base)
        keys = KeyTable(128)
        backend = KeyedStateStore(self._store, self._tables, "op", keys, False)
        runtime = FunctionRuntimeContext(
            uid="op",
            name="op",
            index=0,
            parallelism=1,
            max_parallelism=128,
            parameters={},
            backend=backend,
            in_batch_mode=self._in_batch_mode,
        )
        event, processing = TimerQueue(self._store, b"te", keys), TimerQueue(self._store, b"tp", keys)
        self._context = OperatorContext(backend, event, processing, runtime)
        self.operator: RelationalOperator = make_relational_operator(self.spec)
        self.operator.open(self._context)

    def run(
        self,
        rows: Sequence[Row | Change] = (),
        *,
        watermark: int | None = None,
        watermarks: Sequence[int] | None = None,
        now: int | None = None,
    ) -> list[Change]:
        """Runs a batch of the first input.

        watermark: of the operator after the batch, else as before. watermarks: when each row arrived, else the one before the
        batch. now: the processing time, else as before.
        """
        return [change for change, _ in self.run_inputs([rows], watermark=watermark, marks=[watermarks], now=now)]

    def run_marked(
        self,
        rows: Sequence[Row | Change] = (),
        *,
        watermark: int | None = None,
        watermarks: Sequence[int] | None = None,
        now: int | None = None,
    ) -> list[tuple[Change, int]]:
        """Like `run`, with the watermark at which each row was emitted."""
        return self.run_inputs([rows], watermark=watermark, marks=[watermarks], now=now)

    def run_inputs(
        self,
        inputs: Sequence[Sequence[Row | Change]],
        *,
        watermark: int | None = None,
        marks: Sequence[Sequence[int] | None] | None = None,
        ranks: Sequence[Sequence[int]] | None = None,
        now: int | None = None,
    ) -> list[tuple[Change, int]]:
        """Runs a batch of several inputs. Without ranks, the rows of the first input come first."""
        self._number += 1
        self.now = self.now if now is None else now
        end = max(self.watermark, self.watermark if watermark is None else watermark)
        given, start = [], 0
        for i, rows in enumerate(inputs):
            mark = None if marks is None else marks[i]
            at = np.full(len(rows), self.watermark, np.int64) if mark is None else np.array(mark, np.int64)
            rank = np.arange(start, start + len(rows)) if ranks is None else np.array(ranks[i], np.int64)
            start += len(rows)
            given.append(Input(to_changes(rows, self._input_types[i]), at, rank))
        out = self.operator.run(given, Advance(self.now, self.watermark, end, [end], self._number))
        self.watermark = end
        self._context.event_timers.flush()
        self._context.processing_timers.flush()
        self._context.backend.flush()
        self._base.apply(self._store.take_changes())
        result: list[tuple[Change, int]] = []
        last = MIN_WATERMARK
        for changes, emitted in out.parts:
            for change, mark in zip(from_changes(changes, self._output_types), emitted.tolist(), strict=True):
                assert mark >= last, "watermarks of the output must ascend"
                last = mark
                result.append((change, mark))
        return result

    def count_entries(self) -> int:
        """Returns the number of entries of state."""
        return len(self._base.entries)
