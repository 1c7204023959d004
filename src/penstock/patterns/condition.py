"""Conditions of patterns: the ones that users write, and the tree in which a pattern combines them."""

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
    """The context of an iterative condition."""

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> list[Any]:
        """Returns the events that the partial match has accepted for a pattern so far, in order. May be empty."""

    @abstractmethod
    def timestamp(self) -> int:
        """Returns the timestamp of the event in milliseconds. In processing time, the time at which it is processed."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the current processing time in milliseconds."""


class IterativeCondition(Function, ABC, Generic[IN]):
    """A condition that can read the events that the partial match has accepted so far.

    >>> class Rising(IterativeCondition[int]):
    ...     def filter(self, value: int, ctx: ConditionContext) -> bool:
    ...         return all(value > earlier for earlier in ctx.get_events_for_pattern("rise"))
    """

    @abstractmethod
    def filter(self, value: IN, ctx: ConditionContext) -> bool:
        """Returns whether the event is accepted. Called for each event that may continue a partial match."""


RichIterativeCondition = IterativeCondition  # every Penstock function has `open` and `close`


class SimpleCondition(Function, ABC, Generic[IN]):
    """A condition that depends on the event only.

    >>> SimpleCondition.of(lambda price: price > 10).filter(11)
    True
    """

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Returns whether the event is accepted."""

    @staticmethod
    def of(function: Callable[[Any], bool] | FilterFunction[Any]) -> SimpleCondition[Any]:
        """Returns a condition that calls a function with the event."""
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


# -- the condition tree of a pattern


class Condition:
    """A node of the condition tree of a pattern."""

    __slots__ = ()

    def functions(self) -> Iterator[Any]:
        """Yields the functions of the user in this condition."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Always(Condition):
    """Holds for every event."""


@dataclass(frozen=True, slots=True)
class Holds(Condition):
    """A function of the user that takes the event, or the event and a context."""

    function: Any
    iterative: bool

    def functions(self) -> Iterator[Any]:
        yield self.function


@dataclass(frozen=True, slots=True)
class IsA(Condition):
    """The event is an instance of a class."""

    kind: type


@dataclass(frozen=True, slots=True)
class _Two(Condition):
    left: Condition
    right: Condition

    def functions(self) -> Iterator[Any]:
        yield from self.left.functions()
        yield from self.right.functions()


class Both(_Two):
    """Both conditions hold."""

    __slots__ = ()


class Either(_Two):
    """At least one of two conditions holds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Not(Condition):
    """The inner condition does not hold."""

    inner: Condition

    def functions(self) -> Iterator[Any]:
        yield from self.inner.functions()


def to_condition(method: str, pattern: str, condition: Any) -> Condition:
    """Returns the argument of where, or_where or until as a condition.

    >>> to_condition("where", "a", lambda event: True).iterative
    False
    """
    if isinstance(condition, Condition):
        return condition
    if isinstance(condition, IterativeCondition):
        return Holds(condition, True)
    if isinstance(condition, (SimpleCondition, FilterFunction)):
        return Holds(condition, False)
    if callable(condition) and not isinstance(condition, type):
        return Holds(condition, _takes_context(condition))
    is_class = isinstance(condition, type)
    found = f"the class {condition.__name__}" if is_class else f"a {type(condition).__name__}"
    raise PlanError(
        "PATTERN_CONDITION",
        f"{method}() of pattern '{pattern}' got {found}. Pass a function of the event, a function of the event and a "
        "context, a SimpleCondition or an IterativeCondition.",
    )


def _takes_context(function: Callable[..., Any]) -> bool:
    """Returns whether a function takes a context in addition to the event."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # a builtin without a signature
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2
