"""Aggregate functions that tests call, and their calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from penstock.row import Row
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.table.data_types import DataTypes
from penstock.table.user_functions.aggregate_function import (
    AggregateFunction,
    UserDefinedAggregateFunctionWrapper,
    udaf,
)
from penstock.table.user_functions.table_aggregate_function import TableAggregateFunction, udtaf
from penstock.table.user_functions.views import ListView, MapView
from penstock.types.logical.kinds import ArrayType, LogicalType

B = DataTypes.BIGINT()


class Total(AggregateFunction[Any, Any]):
    """SUM of INT, which wraps around, with a row as its accumulator."""

    def create_accumulator(self) -> Any:
        return Row(0, 0)

    def accumulate(self, accumulator: Any, value: Any) -> None:
        self._change(accumulator, value, 1)

    def retract(self, accumulator: Any, value: Any) -> None:
        self._change(accumulator, value, -1)

    def _change(self, accumulator: Any, value: Any, sign: int) -> None:
        if value is not None:
            accumulator[0] += sign * value
            accumulator[1] += sign

    def merge(self, accumulator: Any, accumulators: Sequence[Any]) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator: Any) -> Any:
        return (accumulator[0] + 2**31) % 2**32 - 2**31 if accumulator[1] else None


class TotalWithoutMerge(Total):
    """The same for operators that merge."""

    merge = AggregateFunction.merge


class Listed(AggregateFunction[Any, Any]):
    """Values in the order of their rows, with a view: ARRAY_AGG without NULL."""

    def create_accumulator(self) -> Any:
        return Row(ListView())

    def accumulate(self, accumulator: Any, value: Any) -> None:
        if value is not None:
            accumulator[0].add(value)

    def merge(self, accumulator: Any, accumulators: Sequence[Any]) -> None:
        for other in accumulators:
            accumulator[0].add_all(other[0])

    def get_value(self, accumulator: Any) -> Any:
        return list(accumulator[0]) or None


class Counted(AggregateFunction[Any, Any]):
    """How many different values there are, with a view: COUNT(DISTINCT ...)."""

    def create_accumulator(self) -> Any:
        return [MapView(), 0]

    def accumulate(self, accumulator: Any, value: Any) -> None:
        if value is not None:
            count = accumulator[0].get(value) or 0
            accumulator[0][value] = count + 1
            accumulator[1] += count == 0

    def retract(self, accumulator: Any, value: Any) -> None:
        if value is None:
            return
        count = accumulator[0][value] - 1
        if count:
            accumulator[0][value] = count
        else:
            del accumulator[0][value]
            accumulator[1] -= 1

    def get_value(self, accumulator: Any) -> Any:
        assert accumulator[1] == len(list(accumulator[0].items()))
        return accumulator[1]


class Top2(TableAggregateFunction[Any, Any]):
    """The two highest values of all that are there, with their places."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator.append(value)

    def retract(self, accumulator: Any, value: Any) -> None:
        accumulator.remove(value)

    def emit_value(self, accumulator: Any) -> Iterator[Any]:
        for place, value in enumerate(sorted(accumulator, reverse=True)[:2]):
            yield Row(value, place)


def python_call(
    function: UserDefinedAggregateFunctionWrapper, arguments: tuple[int, ...], types: Sequence[LogicalType], **more: Any
) -> AggregateCall:
    """Returns a call over columns. `replays` is a fact of the function in its operator."""
    facts = {"replays": more.pop("replays", False)}
    given = tuple(types[i] for i in arguments)
    python = msgspec.structs.replace(function.call("UTC"), **facts)
    type_ = ArrayType(function.result_type) if function.kind == "table aggregate" else function.result_type
    return AggregateCall("PYTHON", arguments, given, type_, python=python, **more)


TOTAL = udaf(Total(), result_type=B, accumulator_type=DataTypes.ROW([DataTypes.FIELD("a", B), DataTypes.FIELD("b", B)]))
TOTAL_WITHOUT_MERGE = udaf(TotalWithoutMerge(), result_type=B, accumulator_type="ROW<a BIGINT, b BIGINT>")
LISTED = udaf(
    Listed(),
    result_type=DataTypes.ARRAY(B),
    accumulator_type=DataTypes.ROW([DataTypes.FIELD("a", DataTypes.LIST_VIEW(B))]),
)
COUNTED = udaf(
    Counted(),
    result_type=B,
    accumulator_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.MAP_VIEW(B, B)), DataTypes.FIELD("b", DataTypes.BIGINT())]
    ),
)
PANDAS_TOTAL = udaf(lambda values: values.sum(), result_type=B, func_type="pandas", name="pandas_total")
TOP2 = udtaf(Top2(), result_type="ROW<v BIGINT, place INT>", accumulator_type="ARRAY<BIGINT>")
