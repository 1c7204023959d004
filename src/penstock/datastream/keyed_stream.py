"""A stream by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.datastream.data_stream import DataStream, R, T
from penstock.datastream.keyed_functions import keyed_filter, keyed_flat_map, keyed_map, keyed_reduce
from penstock.datastream.wrong_function import wrong_function
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.plan.nodes import FactorySpec, OperatorNode, ProcessSpec


class KeyedStream(DataStream[T]):
    """A stream by key: functions on it have state and timers."""

    def _operator(self, name: str, function: Any, two_inputs: bool = False) -> DataStream[Any]:
        return DataStream(self._env, self._add(OperatorNode, name, spec=ProcessSpec(function, True, two_inputs)))

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """What a keyed process function emits."""
        if not isinstance(func, (KeyedProcessFunction, ProcessFunction)):
            raise wrong_function("process", func, "a KeyedProcessFunction", "")
        return self._operator("process", func)

    def map(self, func: Callable[[T], R] | MapFunction, output_type: Any = None) -> DataStream[R]:
        """One element for each element; the function may use keyed state."""
        return self._operator("map", keyed_map(func))

    def flat_map(self, func: Callable[[T], Any] | FlatMapFunction, output_type: Any = None) -> DataStream[Any]:
        """Any number of elements for each element; the function may use keyed state."""
        return self._operator("flat_map", keyed_flat_map(func))

    def filter(self, func: Callable[[T], bool] | FilterFunction) -> DataStream[T]:
        """The elements for which the function holds; it may use keyed state."""
        return self._operator("filter", keyed_filter(func))

    def reduce(self, func: Callable[[T, T], T] | ReduceFunction) -> DataStream[T]:
        """For each element, all elements of its key so far reduced to one."""
        return self._operator("reduce", keyed_reduce(func))

    def transform(self, name: str, factory: Callable[[], Any]) -> DataStream[Any]:
        """An operator made by a factory: the seam for operators that this class has no method for."""
        return DataStream(self._env, self._add(OperatorNode, name, spec=FactorySpec(factory)))
