"""State with a time to live: timed operations and the results of reads."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import AggregateFunction, KeyedContext, KeyedProcessFunction, RuntimeContext
from penstock.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.time import Duration
from penstock.ttl import StateTtlConfig, StateVisibility, UpdateType
from tests.conformance.case import Case, NotRunnableError
from tests.conformance.job import MAIN, Batch, BatchResult, Job

UPDATE_TYPES = {
    "Disabled": UpdateType.Disabled,
    "OnCreateAndWrite": UpdateType.OnCreateAndWrite,
    "OnReadAndWrite": UpdateType.OnReadAndWrite,
}
VISIBILITIES = {
    "NeverReturnExpired": StateVisibility.NeverReturnExpired,
    "ReturnExpiredIfNotCleanedUp": StateVisibility.ReturnExpiredIfNotCleanedUp,
}
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    r"sums?|adds?|plus|adding": operator.add,
    r"max(imum)?": max,
    r"min(imum)?": min,
}
RESTORES = ("restore", "snapshot_restore", "checkpoint_restore")
READS = ("get", "contains", "keys", "values", "items", "is_empty")


def job(case: Case) -> Job:
    kind, params = str(case.params.get("state")), case.params
    if kind not in OPERATIONS:
        raise NotRunnableError(f"state of kind {kind!r} is not known")
    if kind == "aggregating" and "function" not in params:
        raise NotRunnableError("aggregating state needs a function, but none is specified")
    if "function" in params and kind in ("reducing", "aggregating"):
        _combine(str(params["function"]))
    for entry in case.input:
        if not _is_restore(entry) and entry.get("op") not in OPERATIONS[kind]:
            raise NotRunnableError(f"the operation {entry.get('op')!r} on {kind} state is not known")
    config = _ttl(params)

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        return streams[0].key_by(_key).process(Operations(kind, params, config))

    return Job(build, _batches(case))


def check(case: Case, results: list[BatchResult]) -> None:
    """Checks the results of all reads, in order."""
    found = [value for batch in results for value, _ in batch.outputs[MAIN]]
    whole = case.params["state"] == "list" or not any("map_key" in e for e in case.input if e.get("op") == "get")
    empty = whole and case.params["state"] in ("list", "map")  # missing state may be specified as null or as empty
    expected = [_normalize(e, empty) for e in case.expected]
    assert [_normalize(v, empty) for v in found] == expected
    reads = [e["expect"] for e in case.input if e.get("op") in READS and "expect" in e]
    assert not reads or [_normalize(e, empty) for e in reads] == expected, "the case is inconsistent"


def _normalize(value: Any, empty: bool) -> Any:
    if empty and value in (None, [], {}):
        return None
    if isinstance(value, dict):
        return {str(k): v for k, v in value.items()}
    return value


def _ttl(params: dict[str, Any]) -> StateTtlConfig:
    if params.get("time", "processing") != "processing":
        raise NotRunnableError(f"a time to live in {params['time']} time: only processing time is supported")
    try:
        update, visibility = UPDATE_TYPES[params["update_type"]], VISIBILITIES[params["visibility"]]
    except KeyError as unknown:
        raise NotRunnableError(f"the setting {unknown} is not known") from None
    builder = StateTtlConfig.new_builder(Duration.of_millis(params["ttl_ms"]))
    return builder.set_update_type(update).set_state_visibility(visibility).build()


def _batches(case: Case) -> list[Batch]:
    """Returns one batch for all operations at the same time, because time does not advance within a batch."""
    batches: list[Batch] = []
    restored = False
    for number, entry in enumerate(case.input, 1):
        if _is_restore(entry):
            restored = True
        elif batches and batches[-1].clock == entry["t"] and not restored:
            batches[-1].items[0].append(entry)
            batches[-1].inputs = number
        else:
            batches.append(Batch({0: [entry]}, clock=entry["t"], inputs=number, restored=restored))
            restored = False
    return batches


def _is_restore(entry: dict[str, Any]) -> bool:
    return bool(entry.get("checkpoint_restore")) or entry.get("op") in RESTORES


def _key(entry: dict[str, Any]) -> Any:
    return entry.get("key", "one")


# -- what runs


class Operations(KeyedProcessFunction):
    """Applies the operation of each element to the state, and emits the results of reads."""

    def __init__(self, kind: str, params: dict[str, Any], config: StateTtlConfig) -> None:
        self._kind = kind
        self._params = params
        self._config = config
        self._state: Any = None

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = self._descriptor()
        descriptor.enable_time_to_live(self._config)
        getters: dict[str, Any] = {
            "value": runtime_context.get_state,
            "list": runtime_context.get_list_state,
            "map": runtime_context.get_map_state,
            "reducing": runtime_context.get_reducing_state,
            "aggregating": runtime_context.get_aggregating_state,
        }
        self._state = getters[self._kind](descriptor)

    def _descriptor(self) -> StateDescriptor:
        spec = str(self._params.get("function", "sum"))
        match self._kind:
            case "reducing":
                return ReducingStateDescriptor("state", _combine(spec))
            case "aggregating":
                return AggregatingStateDescriptor("state", Combined(spec))
            case "list":
                return ListStateDescriptor("state")
            case "map":
                return MapStateDescriptor("state")
            case _:
                return ValueStateDescriptor("state")

    def process_element(self, value: dict[str, Any], ctx: KeyedContext) -> Iterable[Any]:
        result = OPERATIONS[self._kind][value["op"]](self._state, value)
        if value["op"] in READS:
            yield result


class Combined(AggregateFunction):
    """Sums the elements, or returns the minimum or maximum. "from 3" is the initial value, "as string" converts the result."""

    def __init__(self, spec: str) -> None:
        self._combine = _combine(spec)
        start = re.search(r"(?:from|with|at) (-?\d+)", spec)
        self._start = int(start[1]) if start else 0
        self._as_text = "string" in spec

    def create_accumulator(self) -> Any:
        return self._start

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._combine(accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return str(accumulator) if self._as_text else accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return self._combine(acc_a, acc_b)


def _combine(spec: str) -> Callable[[Any, Any], Any]:
    for words, function in COMBINE.items():
        if re.search(rf"\b({words})\b", spec, re.IGNORECASE):
            return function
    raise NotRunnableError(f'the function "{spec}" is not understood')


def _map_update(state: Any, entry: dict[str, Any]) -> None:
    if "map_key" in entry:
        state.put(entry["map_key"], entry["value"])
    else:
        state.put_all(dict(entry["value"]))


def _map_get(state: Any, entry: dict[str, Any]) -> Any:
    return state.get(entry["map_key"]) if "map_key" in entry else dict(state.items())


def _add(state: Any, entry: dict[str, Any]) -> None:
    state.add(entry["value"])


def _clear(state: Any, entry: dict[str, Any]) -> None:
    state.clear()


Operation = Callable[[Any, dict[str, Any]], Any]
OPERATIONS: dict[str, dict[str, Operation]] = {
    "value": {
        "update": lambda state, entry: state.update(entry["value"]),
        "get": lambda state, entry: state.value(),
        "clear": _clear,
    },
    "list": {
        "update": lambda state, entry: state.update(list(entry["value"])),
        "add": _add,
        "add_all": lambda state, entry: state.add_all(list(entry["value"])),
        "get": lambda state, entry: list(state.get()),
        "clear": _clear,
    },
    "map": {
        "update": _map_update,
        "put": _map_update,
        "put_all": _map_update,
        "get": _map_get,
        "remove": lambda state, entry: state.remove(entry["map_key"]),
        "contains": lambda state, entry: state.contains(entry["map_key"]),
        "keys": lambda state, entry: sorted(state.keys()),
        "values": lambda state, entry: sorted(state.values()),
        "items": lambda state, entry: dict(state.items()),
        "is_empty": lambda state, entry: state.is_empty(),
        "clear": _clear,
    },
    "reducing": {"update": _add, "add": _add, "get": lambda state, entry: state.get(), "clear": _clear},
    "aggregating": {"update": _add, "add": _add, "get": lambda state, entry: state.get(), "clear": _clear},
}
