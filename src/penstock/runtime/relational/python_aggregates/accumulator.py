"""Accumulators of calls of Python aggregate functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.runtime.relational.aggregates.column_accumulator import Codes, ColumnAccumulator, Field, Signs
from penstock.runtime.relational.aggregates.multisets import Multisets, TableMultisets
from penstock.runtime.relational.python_aggregates.accumulator_codec import decode, encode
from penstock.runtime.relational.python_aggregates.loaded_function import LoadedAggregate
from penstock.runtime.relational.python_aggregates.view_state import bind_views, new_views
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.kinds import LogicalType


def make_python_accumulator(call: AggregateCall) -> PythonAccumulator:
    """Returns the accumulators of a call with a Python function."""
    from penstock.runtime.relational.python_aggregates.row_lists import PandasAccumulator, ReplayingAccumulator

    assert call.python is not None
    if call.python.emits_rows:
        from penstock.runtime.relational.python_aggregates.emitted_rows import TableAggregateAccumulator

        return TableAggregateAccumulator(call)
    if call.python.function.style == "pandas":
        return PandasAccumulator(call)
    return ReplayingAccumulator(call) if call.python.replays else PythonAccumulator(call)


class PythonAccumulator(ColumnAccumulator):
    """Accumulators that the function created. They are bytes in state, and objects while a batch is processed.

    A group without rows has None: its accumulator is created with its first row.
    """

    initial: tuple[Any, ...] = (None,)
    dtypes: tuple[Any, ...] = (None,)
    is_python = True

    def __init__(self, call: AggregateCall) -> None:
        assert call.python is not None
        self.spec = call.python
        general = call.python.function.style == "general"
        self.uses_multiset = general and call.python.views and not call.python.replays
        self.argument_types: Sequence[LogicalType] = call.argument_types
        self.type = call.type
        self.loaded = LoadedAggregate(call.python)

    def open(self) -> None:
        self.loaded.load()

    def load(self, stored: Sequence[Sequence[Any]]) -> list[Field]:
        return [[None if data is None else decode(data) for data in stored[0]]]

    def dump(self, fields: list[Field]) -> list[list[Any]]:
        return [[None if accumulator is None else encode(accumulator) for accumulator in fields[0]]]

    def bind(self, fields: list[Field], multiset: Multisets) -> None:
        """Binds the views of accumulators from state to their entries, if they are in a table."""
        if isinstance(multiset, TableMultisets):
            for group, accumulator in enumerate(fields[0]):
                if accumulator is not None:
                    fields[0][group] = bind_views(accumulator, multiset, group)

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        accumulators = fields[0]
        rows = self.loaded.arguments(arguments, self.argument_types, len(codes))
        function = self.loaded.function
        accumulate, retract = function.accumulate, function.retract
        ones = None if signs is None else signs.tolist()
        for number, (group, row) in enumerate(zip(codes.tolist(), rows, strict=True)):
            accumulator = accumulators[group]
            if accumulator is None:
                accumulator = self.loaded.create()
                if isinstance(multiset, TableMultisets):
                    accumulator = new_views(accumulator, multiset, group)
                accumulators[group] = accumulator
            method = accumulate if ones is None or ones[number] > 0 else retract
            try:
                method(accumulator, *row)
            except Exception as error:
                raise self.loaded.failure(error, method, accumulator, row) from error

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        accumulators = fields[0]
        for group, other in zip(codes.tolist(), others[0], strict=True):
            if other is None:
                continue
            if accumulators[group] is None:
                accumulators[group] = self.loaded.create()
            self.loaded.merge(accumulators[group], [other])

    def results(self, fields: list[Field]) -> pa.Array:
        result, create = self.loaded.result, self.loaded.create
        found = [result(create() if accumulator is None else accumulator) for accumulator in fields[0]]
        return self.loaded.column(found, self.type)
