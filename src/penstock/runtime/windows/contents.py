"""What is kept of a window's elements: one accumulator, or the elements themselves.

A pane is the contents of one key and window, found by `at` = (key, namespace).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.runtime.state.backend import StateBackend
from penstock.state import ListStateDescriptor, ValueStateDescriptor
from penstock.types import TypeInformation, Types

At = tuple[Any, tuple[Any, ...]]

_NAME = "__contents__"


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduce or aggregate function as four plain functions."""

    start: Callable[[Any], Any]  # value to accumulator
    add: Callable[[Any, Any], Any]  # value, accumulator
    merge: Callable[[Any, Any], Any]  # accumulator, accumulator
    result: Callable[[Any], Any]  # accumulator to what is emitted

    @classmethod
    def of(cls, reduce: Any, aggregate: Any) -> Fold | None:
        """The fold of whichever is given; None when elements are to be kept."""
        if reduce is not None:
            return cls.of_reduce(reduce)
        return None if aggregate is None else cls.of_aggregate(aggregate)

    @classmethod
    def of_reduce(cls, function: Any) -> Fold:
        """The fold of a ReduceFunction or a callable of two values.

        >>> Fold.of_reduce(max).add(2, 1)
        2
        """
        reduce = function.reduce if hasattr(function, "reduce") else function
        return cls(_same, lambda value, accumulator: reduce(accumulator, value), reduce, _same)

    @classmethod
    def of_aggregate(cls, function: Any) -> Fold:
        """The fold of an AggregateFunction."""
        add, create = function.add, function.create_accumulator
        return cls(lambda value: add(value, create()), add, function.merge, function.get_result)

    def of_all(self, values: list[Any]) -> list[Any]:
        """The result of some values, as a list of one; of none, an empty list."""
        if not values:
            return []
        accumulator = self.start(values[0])
        for value in values[1:]:
            accumulator = self.add(value, accumulator)
        return [self.result(accumulator)]


def _same(value: Any) -> Any:
    return value


class Contents(Protocol):
    """How panes are kept."""

    def open(self, backend: StateBackend) -> None: ...

    def pane(self, at: At) -> Any:
        """The pane to add to; valid until it is cleared, or the batch ends."""
        ...

    def add(self, pane: Any, value: Any, timestamp: int) -> None: ...

    def elements(self, at: At) -> list[Any] | None:
        """What the window function is given; None when nothing is there."""
        ...

    def clear(self, at: At) -> None: ...

    def merge(self, target: At, sources: Iterable[At]) -> None:
        """Moves the sources' contents behind the target's."""
        ...


class Folded:
    """One accumulator per pane. A pane is a list of at most one, changed in place and written once a batch."""

    def __init__(self, fold: Fold, accumulator_type: TypeInformation) -> None:
        self.fold = fold
        self._type = Types.LIST(accumulator_type)
        self._state: Any = None
        self._cell: Any = None

    def open(self, backend: StateBackend) -> None:
        self._state = backend.handle(ValueStateDescriptor(_NAME, self._type), "namespace")
        self._cell = backend.namespace_cell

    def pane(self, at: At) -> list[Any]:
        self._cell.at = at
        pane: list[Any] | None = self._state.value()
        if pane is None:
            pane = []
        self._state.update(pane)
        return pane

    def add(self, pane: list[Any], value: Any, timestamp: int) -> None:
        if pane:
            pane[0] = self.fold.add(value, pane[0])
        else:
            pane.append(self.fold.start(value))

    def add_partial(self, pane: list[Any], accumulator: Any) -> None:
        if pane:
            pane[0] = self.fold.merge(pane[0], accumulator)
        else:
            pane.append(accumulator)

    def elements(self, at: At) -> list[Any] | None:
        self._cell.at = at
        pane = self._state.value()
        return [self.fold.result(pane[0])] if pane else None

    def clear(self, at: At) -> None:
        self._cell.at = at
        self._state.clear()

    def merge(self, target: At, sources: Iterable[At]) -> None:
        pane = self.pane(target)
        for at in sources:
            self._cell.at = at
            source = self._state.value()
            self._state.clear()
            if source:
                self.add_partial(pane, source[0])
        if not pane:
            self.clear(target)


class Collected:
    """All elements of a pane, each stored by itself. A pane is its own address."""

    def __init__(self, element_type: TypeInformation) -> None:
        self._type = element_type
        self._state: Any = None
        self._cell: Any = None

    def open(self, backend: StateBackend) -> None:
        self._state = backend.handle(ListStateDescriptor(_NAME, self._type), "namespace")
        self._cell = backend.namespace_cell

    def pane(self, at: At) -> At:
        return at

    def add(self, pane: At, value: Any, timestamp: int) -> None:
        self._cell.at = pane
        self._state.add(value)

    def elements(self, at: At) -> list[Any] | None:
        self._cell.at = at
        return list(self._state.get()) or None

    def replace(self, at: At, elements: list[Any]) -> None:
        self._cell.at = at
        self._state.update(elements)

    def clear(self, at: At) -> None:
        self._cell.at = at
        self._state.clear()

    def merge(self, target: At, sources: Iterable[At]) -> None:
        for at in sources:
            moved = self.elements(at)
            if moved:
                self.clear(at)
                self._cell.at = target
                self._state.add_all(moved)


class Timed(Collected):
    """All elements of a pane with their timestamps: what an evictor looks at."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(Types.TUPLE([Types.LONG(), element_type]))

    def add(self, pane: At, value: Any, timestamp: int) -> None:
        super().add(pane, (timestamp, value), timestamp)


def contents_of(fold: Fold | None, value_type: TypeInformation, evicting: bool) -> Contents:
    """How a window's panes are kept: with an evictor, all elements and their timestamps, whatever the function."""
    if evicting:
        return Timed(value_type)
    if fold is None:
        return Collected(value_type)
    return Folded(fold, value_type)
