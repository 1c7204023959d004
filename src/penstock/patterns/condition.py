"""Conditions of patterns, as the user wrote them and as the methods of a pattern combined them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic

from penstock.errors import PlanError
from penstock.functions import FilterFunction, Function
from penstock.functions.function import IN


class ConditionContext(ABC):
    """What an iterative condition may ask for."""

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The events that the partial match has for a pattern so far, in order; none: an empty list."""

    @abstractmethod
    def timestamp(self) -> int:
        """The event's timestamp; in processing time, the time at which it is processed."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The clock."""


class IterativeCondition(Function, ABC, Generic[IN]):
    """A condition that sees what the partial match has accepted so far."""

    @abstractmethod
    def filter(self, value: IN, ctx: ConditionContext) -> bool:
        """Whether the event fits what was accepted so far."""


RichIterativeCondition = IterativeCondition  # every function of ours has `open` and `close`


class SimpleCondition(Function, ABC, Generic[IN]):
    """A condition on the event alone.

    >>> SimpleCondition.of(lambda price: price > 10).filter(11)
    True
    """

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Whether the event fits."""

    @staticmethod
    def of(function: Callable[[Any], bool] | FilterFunction[Any]) -> SimpleCondition[Any]:
        """A condition of a plain function."""
        return _Wrapped(function)


class _Wrapped(SimpleCondition[Any]):
    def __init__(self, function: Any) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def filter(self, value: Any) -> bool:
        f = self._function
        return bool(f.filter(value) if isinstance(f, FilterFunction) else f(value))


# -- the tree that a pattern holds


class Condition:
    """A part of a pattern's condition."""

    __slots__ = ()

    def functions(self) -> Iterator[Any]:
        """The user's functions in it."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Always(Condition):
    """Holds for every event."""


@dataclass(frozen=True, slots=True)
class Holds(Condition):
    """A function of the user's: of the event, or of the event and what was accepted so far."""

    function: Any
    iterative: bool

    def functions(self) -> Iterator[Any]:
        yield self.function


@dataclass(frozen=True, slots=True)
class IsA(Condition):
    """The event is of a class."""

    kind: type


@dataclass(frozen=True, slots=True)
class _Two(Condition):
    left: Condition
    right: Condition

    def functions(self) -> Iterator[Any]:
        yield from self.left.functions()
        yield from self.right.functions()


class Both(_Two):
    """The event satisfies both."""

    __slots__ = ()


class Either(_Two):
    """The event satisfies one of them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Not(Condition):
    inner: Condition

    def functions(self) -> Iterator[Any]:
        yield from self.inner.functions()


def condition_of(method: str, pattern: str, found: Any) -> Condition:
    """What the user passed to where, or_where or until, as a condition.

    >>> condition_of("where", "a", lambda event: True).iterative
    False
    """
    if isinstance(found, Condition):
        return found
    if isinstance(found, IterativeCondition):
        return Holds(found, True)
    if isinstance(found, (SimpleCondition, FilterFunction)):
        return Holds(found, False)
    if callable(found) and not isinstance(found, type):
        return Holds(found, _takes_context(found))
    what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
    raise PlanError(
        "PATTERN_CONDITION",
        f"{method}() of pattern '{pattern}' got {what}; it takes a function of the event, a function of the event and a "
        "context, a SimpleCondition or an IterativeCondition.",
    )


def _takes_context(function: Callable[..., Any]) -> bool:
    """Whether a plain function wants a context beside the event."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # a builtin that does not tell
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2
