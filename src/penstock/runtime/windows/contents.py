"""The contents of windows: one accumulator per pane, or its elements.

A pane is one window of one key.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.runtime.loop.element_copy import IMMUTABLE, copy_element
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.codec import codec_of, is_immutable
from penstock.runtime.state.normal_values import Normalise
from penstock.state import ListStateDescriptor, ValueStateDescriptor
from penstock.types import TypeInformation, Types

PaneKey = tuple[Any, tuple[Any, ...]]  # key, namespace

_NAME = "__contents__"


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduce or aggregate function in the form of four functions."""

    start: Callable[[Any], Any]  # value to accumulator
    add: Callable[[Any, Any], Any]  # value, accumulator
    merge: Callable[[Any, Any], Any]  # accumulator, accumulator
    result: Callable[[Any], Any]  # accumulator to result

    @classmethod
    def from_functions(cls, reduce: Any, aggregate: Any) -> Fold | None:
        """Returns the fold of `reduce` or of `aggregate`. Returns None if both are None."""
        if reduce is not None:
            return cls.from_reduce(reduce)
        return None if aggregate is None else cls.from_aggregate(aggregate)

    @classmethod
    def from_reduce(cls, function: Any) -> Fold:
        """Returns the fold of a ReduceFunction or of a callable with two arguments.

        >>> Fold.from_reduce(max).add(2, 1)
        2
        """
        reduce = function.reduce if hasattr(function, "reduce") else function
        return cls(_identity, lambda value, accumulator: reduce(accumulator, value), reduce, _identity)

    @classmethod
    def from_aggregate(cls, function: Any) -> Fold:
        """Returns the fold of an AggregateFunction."""
        add, create = function.add, function.create_accumulator
        return cls(lambda value: add(value, create()), add, function.merge, function.get_result)

    def fold_values(self, values: list[Any]) -> list[Any]:
        """Returns a list with the result of some values. The list is empty if there are no values."""
        if not values:
            return []
        accumulator = self.start(values[0])
        for value in values[1:]:
            accumulator = self.add(value, accumulator)
        return [self.result(accumulator)]


def _identity(value: Any) -> Any:
    return value


class WindowContents(Protocol):
    """Storage of panes."""

    def open(self, backend: KeyedStateStore) -> None: ...

    def pane(self, pane_key: PaneKey) -> Any:
        """Returns the pane to which elements are added. It is valid until it is cleared or the batch ends."""
        ...

    def add(self, pane: Any, value: Any, timestamp: int) -> None:
        """Adds an element that nobody else uses afterwards."""
        ...

    def add_shared(self, pane: Any, value: Any, timestamp: int) -> Any:
        """Adds an element that others use too. Returns it for them: the same object, or a copy that this pane cannot change."""
        self.add(pane, copy_element(value), timestamp)
        return value

    def add_to_all(self, panes: list[Any], value: Any, timestamp: int) -> None:
        """Adds an element to several panes. What one of them does to the element is not seen by the others."""
        for pane in panes[:-1]:
            value = self.add_shared(pane, value, timestamp)
        self.add(panes[-1], value, timestamp)

    def elements(self, pane_key: PaneKey) -> list[Any] | None:
        """Returns the elements for the window function, or None if the pane is empty."""
        ...

    def clear(self, pane_key: PaneKey) -> None: ...

    def merge(self, target: PaneKey, sources: Iterable[PaneKey]) -> None:
        """Appends the contents of the sources to those of the target and clears the sources."""
        ...


class AggregatedContents(WindowContents):
    """One accumulator per pane. A pane is a list of at most one value, changed in place and written once per batch.

    Accumulators are converted to their type after each element, so that results do not depend on the boundaries of batches.
    """

    def __init__(self, fold: Fold, accumulator_type: TypeInformation) -> None:
        self.fold = fold
        self._accumulator_type = accumulator_type
        self._type = Types.LIST(accumulator_type)
        self._normal: Normalise = _identity
        self._normal_classes: Container[type] = ()
        self._state: Any = None
        self._cell: Any = None

    def open(self, backend: KeyedStateStore) -> None:
        self._state = backend.handle(ValueStateDescriptor(_NAME, self._type), "namespace")
        codec = codec_of(self._accumulator_type, "accumulator")
        self._normal, self._normal_classes = codec.normal, codec.normal_classes
        self._cell = backend.namespace_cell

    def pane(self, pane_key: PaneKey) -> list[Any]:
        self._cell.at = pane_key
        pane: list[Any] | None = self._state.read()
        if pane is None:
            pane = []
        self._state.write(pane)
        return pane

    def add(self, pane: list[Any], value: Any, timestamp: int) -> None:
        if pane:
            accumulator = self.fold.add(value, pane[0])
            pane[0] = accumulator if type(accumulator) in self._normal_classes else self._normal(accumulator)
        else:
            pane.append(self._normal(self.fold.start(value)))

    def add_shared(self, pane: list[Any], value: Any, timestamp: int) -> Any:
        if not pane or not is_immutable(pane[0]):  # an accumulator that can be changed may contain the element
            self.add(pane, copy_element(value), timestamp)
            return value
        self.add(pane, value, timestamp)
        return value if is_immutable(pane[0]) else copy_element(value)

    def add_to_all(self, panes: list[list[Any]], value: Any, timestamp: int) -> None:
        if len(panes) == 1:
            self.add(panes[0], value, timestamp)
            return
        add, classes, immutable = self.fold.add, self._normal_classes, IMMUTABLE
        for pane in panes:  # the lines of `add_shared` for the usual case
            if pane and type(pane[0]) in immutable:
                accumulator = add(value, pane[0])
                kind = type(accumulator)
                pane[0] = accumulator if kind in classes else self._normal(accumulator)
                if kind not in immutable:
                    value = copy_element(value)
            else:
                value = self.add_shared(pane, value, timestamp)

    def add_partial(self, pane: list[Any], accumulator: Any) -> None:
        if pane:
            pane[0] = self._normal(self.fold.merge(pane[0], accumulator))
        else:
            pane.append(self._normal(accumulator))

    def elements(self, pane_key: PaneKey) -> list[Any] | None:
        self._cell.at = pane_key
        pane = self._state.read()
        return [self.fold.result(pane[0])] if pane else None

    def clear(self, pane_key: PaneKey) -> None:
        self._cell.at = pane_key
        self._state.clear()

    def merge(self, target: PaneKey, sources: Iterable[PaneKey]) -> None:
        pane = self.pane(target)
        for source_key in sources:
            self._cell.at = source_key
            source = self._state.read()
            self._state.clear()
            if source:
                self.add_partial(pane, source[0])
        if not pane:
            self.clear(target)


class ListContents(WindowContents):
    """All elements of a pane, each stored separately. A pane is represented by its key."""

    def __init__(self, element_type: TypeInformation) -> None:
        self._type = element_type
        self._state: Any = None
        self._cell: Any = None

    def open(self, backend: KeyedStateStore) -> None:
        self._state = backend.handle(ListStateDescriptor(_NAME, self._type), "namespace")
        self._cell = backend.namespace_cell

    def pane(self, pane_key: PaneKey) -> PaneKey:
        return pane_key

    def add(self, pane: PaneKey, value: Any, timestamp: int) -> None:
        self._cell.at = pane
        self._state.add(value)

    def elements(self, pane_key: PaneKey) -> list[Any] | None:
        self._cell.at = pane_key
        return list(self._state.read()) or None

    def replace(self, pane_key: PaneKey, elements: list[Any]) -> None:
        self._cell.at = pane_key
        self._state.update(elements)

    def clear(self, pane_key: PaneKey) -> None:
        self._cell.at = pane_key
        self._state.clear()

    def merge(self, target: PaneKey, sources: Iterable[PaneKey]) -> None:
        for source_key in sources:
            moved = self.elements(source_key)
            if moved:
                self.clear(source_key)
                self._cell.at = target
                self._state.add_all(moved)


class TimestampedContents(ListContents):
    """All elements of a pane with their timestamps, for evictors."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(Types.TUPLE([Types.LONG(), element_type]))

    def add(self, pane: PaneKey, value: Any, timestamp: int) -> None:
        super().add(pane, (timestamp, value), timestamp)


def make_contents(fold: Fold | None, value_type: TypeInformation, evicting: bool) -> WindowContents:
    """Returns the storage for panes. With an evictor it stores all elements and timestamps, whatever the function."""
    if evicting:
        return TimestampedContents(value_type)
    if fold is None:
        return ListContents(value_type)
    return AggregatedContents(fold, value_type)
