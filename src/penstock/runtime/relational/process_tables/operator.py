"""The operator of process table functions: calls the function with each row and timer of a partition, and its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.row import Row
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.keys import decode_values, encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.process_tables.context import ProcessTableContext
from penstock.runtime.relational.python_aggregates.accumulator_codec import decode, encode
from penstock.runtime.relational.python_functions.errors import call_failed, wrong_result
from penstock.runtime.relational.python_functions.scope import loaded
from penstock.runtime.relational.python_functions.values import ResultMisfit, column_of, python_values, rows_of
from penstock.runtime.relational.specs.process_table import ProcessTableSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_times import row_times
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable


class _Partition:
    """State and timers of a partition while a batch is processed."""

    def __init__(self, entry: bytes, suffix: bytes, state: Any, timers: dict[str, int]) -> None:
        self.entry = entry
        self.suffix = suffix
        self.state = state
        self.timers = timers


class _Emitted:
    """What was emitted, by columns."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.rows: list[Any] = []
        self.times: list[int | None] = []
        self.marks: list[int] = []


class ProcessTableOperator(BaseOperator):
    """Keeps the state of each partition and its timers. Timers are called when the watermark reaches them, in their order."""

    def __init__(self, spec: ProcessTableSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key_types = [spec.input_types[k] for k in spec.keys]
        self._partitions: dict[bytes, _Partition] = {}

    def open(self, context: OperatorContext) -> None:
        self._loaded = loaded(self._spec.function)
        self._loaded.open()
        self._states = KeyedTable(context, "states", "process-table")
        self._timers = TimeOrderedTable(context, "timers", "timer")
        zone = self._spec.zone
        self._arguments = {
            name: python_values(from_values([literal.value], literal.type), literal.type, zone)[0]
            for name, literal in self._spec.arguments
        }

    def next_event_time(self, watermark: int) -> int | None:
        return self._timers.first_time()

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        self._partitions = {}
        self._context = ProcessTableContext()
        self._watermark = advance.before
        emitted = _Emitted()
        if len(inputs[0]):
            self._run_rows(inputs[0], emitted)
        self._advance(advance.end, emitted)
        self._store()
        output = Output()
        if emitted.rows:
            output.add(self._changes(emitted), np.array(emitted.marks, np.int64))
        return output

    def _run_rows(self, given: Input, emitted: _Emitted) -> None:
        spec, changes = self._spec, given.changes
        groups = group_rows([changes.columns[k] for k in spec.keys], changes.length)
        first = pa.array(groups.first)
        keys = encode_keys([changes.columns[k].take(first) for k in spec.keys], self._key_types, len(groups))
        values = [
            python_values(column, type_, spec.zone)
            for column, type_ in zip(changes.columns, spec.input_types, strict=True)
        ]
        rows = rows_of(values, spec.row_names, changes.length)
        times: list[Any] = [None] * changes.length
        if spec.time_column >= 0:
            times = row_times(changes.columns[spec.time_column]).tolist()
        function = self._loaded.target.eval
        marks = given.watermarks.tolist()
        for row, group, time, mark in zip(rows, groups.codes.tolist(), times, marks, strict=True):
            self._advance(mark, emitted)
            self._context.fired = None
            self._call(keys[group], time, emitted, mark, function, row, **self._arguments)

    def _advance(self, watermark: int, emitted: _Emitted) -> None:
        """Calls the timers that a watermark reaches, with those that they register."""
        if watermark <= self._watermark:
            return
        self._watermark = watermark
        while (first := self._timers.first_time()) is not None and first <= watermark:
            for entry in self._timers.take_until(first):
                name = entry.sub_key.decode()
                partition = self._partition(entry.key)
                if partition.timers.get(name) != entry.time:
                    continue  # it was replaced or removed by a timer of the same time
                del partition.timers[name]
                mark = max(entry.time - 1, emitted.marks[-1] if emitted.marks else entry.time - 1)
                self._context.fired = name
                self._call(entry.key, entry.time, emitted, mark, self._loaded.target.on_timer)

    def _call(
        self,
        key: bytes,
        time: int | None,
        emitted: _Emitted,
        mark: int,
        function: Callable[..., Any],
        *row: Any,
        **arguments: Any,
    ) -> None:
        partition, context = self._partition(key), self._context
        before = dict(partition.timers)
        context.row_time, context.watermark, context.timers = time, self._watermark, partition.timers
        context.state_cleared = False
        if partition.state is None:
            partition.state = self._loaded.target.create_state()
        try:
            results = list(function(context, partition.state, *row, **arguments) or ())
        except Exception as error:
            raise call_failed(self._loaded, error, (*row, *arguments.values()), function.__name__ + "()") from error
        if context.state_cleared:
            partition.state = None
        for name in before.keys() | partition.timers.keys():
            old, new = before.get(name), partition.timers.get(name)
            if old != new:
                if old is not None:
                    self._timers.put(self._timers.entry(old, partition.suffix, name.encode()), None)
                if new is not None:
                    self._timers.put(self._timers.entry(new, partition.suffix, name.encode()), b"")
        emitted.keys += [key] * len(results)
        emitted.rows += [value if isinstance(value, Row | tuple) else (value,) for value in results]
        emitted.times += [time] * len(results)
        emitted.marks += [mark] * len(results)

    def _partition(self, key: bytes) -> _Partition:
        found = self._partitions.get(key)
        if found is None:
            entry, suffix = self._states.prefixes([key])[0], self._timers.suffixes([key])[0]
            stored = self._states.get(entry)
            state, timers = (None, {}) if stored is None else decode(stored)
            found = self._partitions[key] = _Partition(entry, suffix, state, timers)
        return found

    def _store(self) -> None:
        for partition in self._partitions.values():
            empty = partition.state is None and not partition.timers
            self._states.put(partition.entry, None if empty else encode([partition.state, partition.timers]))

    def _changes(self, emitted: _Emitted) -> Changes:
        spec = self._spec
        try:
            rows = column_of(emitted.rows, spec.emitted, spec.zone)
        except ResultMisfit as misfit:
            raise wrong_result(self._loaded, misfit.problem, spec.emitted, None) from misfit
        columns = [*decode_values(emitted.keys, self._key_types), *rows.flatten()]
        if spec.time_column >= 0:
            nanos = [None if time is None else time * 1_000_000 for time in emitted.times]
            columns.append(from_values(nanos, spec.output_types[-1]))
        return Changes(columns, len(emitted.rows))
