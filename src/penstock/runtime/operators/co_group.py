"""Windows over two streams: a window operator for both inputs, and adapters for functions of groups and of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import is_not
from typing import Any

from penstock.functions import Function, RuntimeContext, TaggedUnion
from penstock.runtime.loop.call_results import check_results
from penstock.runtime.loop.element_copy import copy_element, copy_elements, same_element
from penstock.runtime.loop.operator import Emitted, OperatorContext
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.contents import PaneKey, WindowContents
from penstock.runtime.windows.factory import window_operator
from penstock.runtime.windows.operator import WindowOperator
from penstock.state import ListStateDescriptor
from penstock.types import TypeInformation, type_information
from penstock.windows import Evictor, Window, WindowAssigner


class GroupedContents(WindowContents):
    """The elements of a pane, in one list state per input. The address of a pane is the pane itself."""

    def __init__(self, first_type: TypeInformation, second_type: TypeInformation) -> None:
        self._types = (first_type, second_type)
        self._lists: tuple[Any, ...] = ()
        self._cell: Any = None

    def open(self, backend: KeyedStateStore) -> None:
        names = zip(("__first__", "__second__"), self._types, strict=True)
        self._lists = tuple(backend.handle(ListStateDescriptor(*name), "namespace") for name in names)
        self._cell = backend.namespace_cell

    def pane(self, at: PaneKey) -> PaneKey:
        return at

    def add(self, pane: PaneKey, value: TaggedUnion, timestamp: int) -> None:
        self._cell.at = pane
        self._lists[value.number].add(value.value)

    def elements(self, at: PaneKey) -> list[Any] | None:
        """Returns the elements of both inputs; None if there are none."""
        self._cell.at = at
        groups = [list(state.get()) for state in self._lists]
        return groups if any(groups) else None

    def clear(self, at: PaneKey) -> None:
        self._cell.at = at
        for state in self._lists:
            state.clear()

    def merge(self, target: PaneKey, sources: Iterable[PaneKey]) -> None:
        for at in sources:
            moved = self.elements(at)
            if moved is not None:
                self.clear(at)
                self._cell.at = target
                for state, group in zip(self._lists, moved, strict=True):
                    state.add_all(group)


class GroupFunction(Function):
    """A window function that calls a user function with both groups, or with each pair.

    `kind` is "co_group" for groups; for pairs it is "join" (one result per pair) or "flat_join" (any number of results).

    >>> list(GroupFunction(lambda one, two: one + two, "join").apply("key", None, [["a", "b"], ["c"]]))
    ['ac', 'bc']
    """

    def __init__(self, function: Any, kind: str) -> None:
        self._function = function
        self._kind = kind
        self._call = getattr(function, "co_group" if kind == "co_group" else "join", function)
        self._copies = True

    def open(self, runtime_context: RuntimeContext) -> None:
        self._copies = not getattr(runtime_context, "object_reuse", False)
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def apply(self, key: Any, window: Window | None, groups: Any) -> Emitted:
        first, second = groups
        if self._kind == "co_group":
            return check_results(self._call(first, second))
        call, pairs = self._call, self._pairs(first, second)
        if self._kind == "join":
            return (call(one, two) for one, two in pairs)
        return (result for one, two in pairs for result in check_results(call(one, two)) or ())

    def _pairs(self, first: list[Any], second: list[Any]) -> Iterator[tuple[Any, Any]]:
        """All pairs. The function may change elements of a pair, so elements of several pairs are copied."""
        separate_first = copy_element if self._copies and _is_changeable(first) else same_element
        separate_second = copy_element if self._copies and _is_changeable(second) else same_element
        for one in first:
            for two in second:
                yield separate_first(one), separate_second(two)


def _is_changeable(elements: list[Any]) -> bool:
    """Whether any element can be changed in place. Then its copy is another object."""
    copied = copy_elements(elements)
    return copied is not elements and any(map(is_not, copied, elements))


class ElementGroupFunction(GroupFunction):
    """The same for the elements of both inputs in order of arrival, as an evictor leaves them."""

    def apply(self, key: Any, window: Window | None, elements: list[TaggedUnion]) -> Emitted:
        groups = [[e.value for e in elements if e.number == number] for number in (0, 1)]
        return super().apply(key, window, groups)


class CoGroupOperator:
    """A window operator with two inputs, whose elements share windows, triggers and timers.

    >>> from penstock.windows import TumblingEventTimeWindows
    >>> CoGroupOperator(TumblingEventTimeWindows.of(10), max, "join").late_records
    0
    """

    keyed = True
    stamps_results = True
    copies_results = True

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
            function=(GroupFunction if evictor is None else ElementGroupFunction)(function, kind),
            evictor=evictor,
            contents=GroupedContents(first, second) if evictor is None else None,
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
        (process,) = self._windows.elements()
        return (
            lambda value, context: process(TaggedUnion(0, value), context),
            lambda value, context: process(TaggedUnion(1, value), context),
        )

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return self._windows.on_timer(timer, context)

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return self._windows.on_failed_timer(timer, context)
