"""A job whose state and key types change. `golden/changes_of_v1.pickle` has the classes of this module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

import penstock as ps
from penstock.connectors import ScriptedSource, Step
from penstock.datastream import DataStream
from penstock.state import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from penstock.time import Time
from penstock.ttl import StateTtlConfig
from penstock.types import Types
from penstock.types.evolution import state_type


@dataclass
class OldTotal:
    amount: int


@dataclass
class Total:
    amount: float
    currency: str = "EUR"


class OldOrder(msgspec.Struct):
    amount: float


@state_type(aliases={"price": "amount"})
class Order(msgspec.Struct):
    price: float


def add(left: Any, right: Any) -> Any:
    return left + right


class Totals(ps.KeyedProcessFunction[Any, Any, Any]):
    """Declares states of several kinds with their types before or after the change."""

    def __init__(self, changed: bool) -> None:
        self._changed = changed

    def open(self, runtime_context: Any) -> None:
        changed = self._changed
        last = ValueStateDescriptor("last", Types.STRING())
        if changed:
            last.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self._last = runtime_context.get_state(last)
        self._count = runtime_context.get_state(
            ValueStateDescriptor("count", Types.DOUBLE() if changed else Types.INT())
        )
        self._orders = runtime_context.get_list_state(ListStateDescriptor("orders", Order if changed else OldOrder))
        totals = MapStateDescriptor("totals", Types.STRING(), Total if changed else OldTotal)
        self._totals = runtime_context.get_map_state(totals)
        self._sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", add, Types.LONG() if changed else Types.INT())
        )

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self._last.update(str(value))
        self._count.update(value)
        self._orders.add(Order(value) if self._changed else OldOrder(value))
        self._totals.put("all", Total(value) if self._changed else OldTotal(value))
        self._sum.add(value)
        yield value


def retyped_job(env: ps.StreamExecutionEnvironment, changed: bool) -> DataStream[Any]:
    steps = [Step({"s": [1, 2, 3]})]
    source = env.from_source(ScriptedSource(steps, known=("s",)), source_name="numbers").uid("numbers")
    fields = [Types.INT(), Types.STRING()]
    keyed: Any
    if changed:
        keyed = source.key_by(
            lambda n: ps.Row(shop=n, region="north"), key_type=Types.ROW_NAMED(["shop", "region"], fields)
        )
    else:
        keyed = source.key_by(lambda n: (n, "north"), key_type=Types.TUPLE(fields))
    stream: DataStream[Any] = keyed.process(Totals(changed)).uid("totals")
    return stream
