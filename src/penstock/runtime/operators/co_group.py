"""Windows over two streams: a window operator over the elements of both, and functions over their groups and pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.functions import Function, RuntimeContext, TaggedUnion
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.state.backend import StateBackend
from penstock.runtime.timers import Timer
from penstock.runtime.window import WindowOperator
from penstock.runtime.window_build import window_operator
from penstock.runtime.window_contents import At
from penstock.state import ListStateDescriptor
from penstock.types import TypeInformation, type_information
from penstock.windows import Evictor, Window, WindowAssigner


class Grouped:
    """All elements of a pane by input, each stored by itself. A pane is its own address."""

    def __init__(self, first_type: TypeInformation, second_type: TypeInformation) -> None:
        self._types = (first_type, second_type)
        self._lists: tuple[Any, ...] = ()
        self._cell: Any = None

    def open(self, backend: StateBackend) -> None:
        names = zip(("__first__", "__second__"), self._types, strict=True)
        self._lists = tuple(backend.handle(ListStateDescriptor(*name), "namespace") for name in names)
        self._cell = backend.namespace_cell

    def pane(self, at: At) -> At:
        return at

    def add(self, pane: At, value: TaggedUnion, timestamp: int) -> None:
        self._cell.at = pane
        self._lists[value.number].add(value.value)

    def elements(self, at: At) -> list[Any] | None:
        """The two groups."""
        self._cell.at = at
        groups = [list(kept.get()) for kept in self._lists]
        return groups if any(groups) else None

    def clear(self, at: At) -> None:
        self._cell.at = at
        for kept in self._lists:
            kept.clear()

    def merge(self, target: At, sources: Iterable[At]) -> None:
        for at in sources:
            moved = self.elements(at)
            if moved is not None:
                self.clear(at)
                self._cell.at = target
                for kept, group in zip(self._lists, moved, strict=True):
                    kept.add_all(group)


class OfGroups(Function):
    """A window function that gives a user's function its groups, or its pairs one by one.

    `kind` says which: "co_group", or of pairs "join" (one result each) or "flat_join" (any number).

    >>> OfGroups(lambda one, two: one + two, "join").apply("key", None, [["a", "b"], ["c"]])
    ['ac', 'bc']
    """

    def __init__(self, function: Any, kind: str) -> None:
        self._function = function
        self._kind = kind
        self._call = getattr(function, "co_group" if kind == "co_group" else "join", function)

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def apply(self, key: Any, window: Window | None, groups: Any) -> Emitted:
        first, second = groups
        if self._kind == "co_group":
            emitted: Emitted = self._call(first, second)
            return emitted
        call = self._call
        if self._kind == "join":
            return [call(one, two) for one in first for two in second]
        return self._flat(first, second)

    def _flat(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        for one in first:
            for two in second:
                yield from self._call(one, two) or ()


class OfElements(OfGroups):
    """The same, given the elements of both streams as they came: what is left of them when an evictor has looked."""

    def apply(self, key: Any, window: Window | None, elements: list[TaggedUnion]) -> Emitted:
        groups = [[e.value for e in elements if e.number == number] for number in (0, 1)]
        return super().apply(key, window, groups)


class CoGroupOperator:
    """A window operator of two inputs: their elements share windows, triggers and timers.

    >>> from penstock.windows import TumblingEventTimeWindows
    >>> CoGroupOperator(TumblingEventTimeWindows.of(10), max, "join").late_records
    0
    """

    keyed = True
    stamps_results = True

    def __init__(
        self,
        assigner: WindowAssigner[Any, Any],
        function: Any,
        kind: str,
        *,
        evictor: Evictor | None = None,
        types: Iterable[TypeInformation | None] = (None, None),
        **settings: Any,
    ) -> None:
        first, second = map(type_information, types)
        self._windows: WindowOperator = window_operator(
            assigner,
            function=(OfGroups if evictor is None else OfElements)(function, kind),
            evictor=evictor,
            contents=Grouped(first, second) if evictor is None else None,
            **settings,
        )

    @property
    def late_records(self) -> int:
        return self._windows.late_records

    def open(self, context: OperatorContext) -> None:
        self._windows.open(context)

    def close(self) -> None:
        self._windows.close()

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        (take,) = self._windows.elements()
        return (
            lambda value, context: take(TaggedUnion(0, value), context),
            lambda value, context: take(TaggedUnion(1, value), context),
        )

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return self._windows.on_timer(timer, context)
