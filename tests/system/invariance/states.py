"""The states of generated functions. Each element reads, changes and reads them again; its number determines the change."""

from __future__ import annotations

from typing import Any

from penstock import StateTtlConfig
from penstock.functions import AggregateFunction
from penstock.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from tests.system.invariance.payloads import PAYLOADS, Payload, show
from tests.system.invariance.program import StateSpec


class KeepLater:
    """Reduces to the value whose text is greater."""

    def __call__(self, one: Any, other: Any) -> Any:
        return other if show(other) >= show(one) else one


class CollectThree(AggregateFunction[Any, Any, Any]):
    """Keeps the last three values. `in_place` changes the accumulator."""

    def __init__(self, in_place: bool) -> None:
        self._in_place = in_place

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        if not self._in_place:
            return [*accumulator, value][-3:]
        accumulator.append(value)
        del accumulator[:-3]
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return tuple(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [*acc_a, *acc_b][-3:]


def describe(spec: StateSpec, name: str) -> Any:
    """Returns the descriptor of a state."""
    payload = PAYLOADS[spec.payload]
    declared = payload.declared if spec.declared else None
    match spec.kind:
        case "value":
            descriptor: StateDescriptor = ValueStateDescriptor(name, declared)
        case "list":
            descriptor = ListStateDescriptor(name, declared)
        case "map":
            descriptor = MapStateDescriptor(name, str if spec.declared else None, declared)
        case "reducing":
            descriptor = ReducingStateDescriptor(name, KeepLater(), declared)
        case _:
            descriptor = AggregatingStateDescriptor(name, CollectThree(in_place=spec.ttl_on_read), None)
    if spec.ttl:
        ttl = StateTtlConfig.new_builder(spec.ttl)
        descriptor.enable_time_to_live((ttl.update_ttl_on_read_and_write() if spec.ttl_on_read else ttl).build())
    return descriptor


def handle(context: Any, spec: StateSpec, descriptor: Any) -> Any:
    """Returns the state of a descriptor."""
    methods = {
        "value": "get_state",
        "list": "get_list_state",
        "map": "get_map_state",
        "reducing": "get_reducing_state",
        "aggregating": "get_aggregating_state",
    }
    return getattr(context, methods[spec.kind])(descriptor)


class StateTable:
    """The opened states of a function."""

    def __init__(self, specs: tuple[StateSpec, ...]) -> None:
        self.specs = specs
        self._handles: list[Any] = []

    def open(self, context: Any) -> None:
        self._handles = [handle(context, spec, describe(spec, f"state{n}")) for n, spec in enumerate(self.specs)]

    def read(self) -> str:
        return ";".join(read(spec, state) for spec, state in zip(self.specs, self._handles, strict=True))

    def change(self, number: int) -> str:
        """Changes all states. Returns them as they were before and are after that."""
        before = self.read()
        for spec, state in zip(self.specs, self._handles, strict=True):
            change(spec, state, number)
        return f"{before}>{self.read()}"


def read(spec: StateSpec, state: Any) -> str:
    match spec.kind:
        case "value":
            return show(state.value())
        case "list":
            return show(list(state.get()))
        case "map":
            items = list(state.items())
            assert (list(state.keys()), list(state.values())) == ([k for k, _ in items], [v for _, v in items])
            assert state.is_empty() == (not items)
            return show(items)
    return show(state.get())


def change(spec: StateSpec, state: Any, number: int) -> None:
    payload = PAYLOADS[spec.payload]
    match spec.kind:
        case "value":
            _change_value(payload, state, number)
        case "list":
            _change_list(payload, state, number)
        case "map":
            _change_map(payload, state, number)
        case _ if number % 7 == 6:
            state.clear()
        case _:
            state.add(payload.make(number))


def _change_value(payload: Payload, state: Any, number: int) -> None:
    if number % 5 == 4:
        state.clear()
    elif number % 5 == 3 and payload.change is not None and (value := state.value()) is not None:
        payload.change(value, number)  # without update()
    else:
        state.update(payload.make(number))


def _change_list(payload: Payload, state: Any, number: int) -> None:
    match number % 6:
        case 3:
            state.add_all([payload.make(number), payload.make(number + 1)])
        case 4:
            state.update([payload.make(number)])
        case 5:
            state.clear()
        case _:
            state.add(payload.make(number))


def _change_map(payload: Payload, state: Any, number: int) -> None:
    name = f"m{number % 4}"
    match number % 6:
        case 3 if state.contains(name):
            state.remove(name)
        case 4:
            state.put_all({"m0": payload.make(number), "m9": payload.make(number + 1)})
        case 5 if number % 4 == 1:
            state.clear()
        case _:
            state.put(name, payload.make(number))
