"""A pattern: a chain of steps, each with a condition, a quantifier and a time. Steps are never changed, only replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, NoReturn, Self, overload

from typing_extensions import TypeVar

from penstock.errors import PlanError, UnsupportedOperation
from penstock.patterns.condition import (
    Always,
    Both,
    Condition,
    ConditionContext,
    Either,
    IsA,
    IterativeCondition,
    SimpleCondition,
    condition_of,
)
from penstock.patterns.quantifier import ConsumingStrategy, Quantifier, Times, WithinType
from penstock.patterns.skip import AfterMatchSkipStrategy
from penstock.time import Duration, millis_of

T = TypeVar("T", default=Any)
S = TypeVar("S")
Length = Duration | timedelta | int
Conditional = (
    Callable[[T], bool] | Callable[[T, ConditionContext], bool] | SimpleCondition[T] | IterativeCondition[T] | Condition
)

_STRICT, _NEXT, _ANY = ConsumingStrategy.STRICT, ConsumingStrategy.SKIP_TILL_NEXT, ConsumingStrategy.SKIP_TILL_ANY
NO_SKIP = AfterMatchSkipStrategy.no_skip()


@dataclass(frozen=True, slots=True, eq=False)
class Pattern(Generic[T]):
    """The last step of a pattern; the others are before it.

    >>> start = Pattern.begin("start").where(lambda event: event == "a")
    >>> [step.name for step in start.followed_by("end").steps()]
    ['start', 'end']
    """

    name: str
    previous: Pattern[Any] | None
    quantifier: Quantifier
    skip: AfterMatchSkipStrategy = NO_SKIP
    condition: Condition | None = None
    until_condition: Condition | None = None
    repetition: Times | None = None
    window: int | None = None  # milliseconds from the first event of a match to its last
    step_window: int | None = None  # milliseconds from the event before to this one

    # -- steps

    @overload
    @staticmethod
    def begin(name: str, skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern[Any]: ...

    @overload
    @staticmethod
    def begin(name: Pattern[S], skip_strategy: AfterMatchSkipStrategy | None = None) -> GroupPattern[S]: ...

    @staticmethod
    def begin(name: str | Pattern[Any], skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern[Any]:
        """A pattern that starts with an event, or with a group of steps."""
        return _step("begin", None, name, _STRICT, skip_strategy or NO_SKIP)

    @overload
    def next(self, name: str) -> Pattern[T]: ...
    @overload
    def next(self, name: Pattern[T]) -> GroupPattern[T]: ...
    def next(self, name: str | Pattern[T]) -> Pattern[T]:
        """The very next event."""
        return _step("next", self, name, _STRICT, self.skip)

    @overload
    def followed_by(self, name: str) -> Pattern[T]: ...
    @overload
    def followed_by(self, name: Pattern[T]) -> GroupPattern[T]: ...
    def followed_by(self, name: str | Pattern[T]) -> Pattern[T]:
        """The next event that fits; others may lie between."""
        return _step("followed_by", self, name, _NEXT, self.skip)

    @overload
    def followed_by_any(self, name: str) -> Pattern[T]: ...
    @overload
    def followed_by_any(self, name: Pattern[T]) -> GroupPattern[T]: ...
    def followed_by_any(self, name: str | Pattern[T]) -> Pattern[T]:
        """Any later event that fits: each of them makes a match of its own."""
        return _step("followed_by_any", self, name, _ANY, self.skip)

    def not_next(self, name: str) -> Pattern[T]:
        """The very next event must not fit."""
        return self._negative("not_next", name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern[T]:
        """No event that fits may come before the next step; as the last step, before the time of `within` is over."""
        return self._negative("not_followed_by", name, ConsumingStrategy.NOT_FOLLOW)

    def _negative(self, method: str, name: str, strategy: ConsumingStrategy) -> Pattern[T]:
        if self.quantifier.optional:
            raise UnsupportedOperation(
                "PATTERN_NOT_AFTER_OPTIONAL",
                f"{method}('{name}') stands behind the optional pattern '{self.name}', which Flink has not defined. Make "
                "two patterns, one with the optional part and one without it.",
            )
        if not isinstance(name, str):
            raise _refused("PATTERN_NAME", f"{method}() got a {type(name).__name__}; it takes the name of one event.")
        return _step(method, self, name, strategy, self.skip)

    # -- conditions

    def where(self, condition: Conditional[T]) -> Self:
        """The event must fulfil this too."""
        new = condition_of("where", self.name, condition)
        return replace(self, condition=new if self.condition is None else Both(self.condition, new))

    def or_where(self, condition: Conditional[T]) -> Self:
        """The event must fulfil this, or what was asked for before."""
        new = condition_of("or_where", self.name, condition)
        return replace(self, condition=new if self.condition is None else Either(self.condition, new))

    or_ = or_where

    def subtype(self, subtype_class: type[S]) -> Pattern[S]:
        """The event must be of a class too."""
        if not isinstance(subtype_class, type):
            raise _refused("PATTERN_CONDITION", f"subtype() of pattern '{self.name}' takes a class.")
        made = IsA(subtype_class)
        changed: Any = replace(self, condition=made if self.condition is None else Both(self.condition, made))
        return changed  # type: ignore[no-any-return]

    def until(self, condition: Conditional[T]) -> Self:
        """The loop ends with the first event for which this holds; that event is no part of it."""
        if self.until_condition is not None:
            raise _refused("PATTERN_UNTIL", f"Pattern '{self.name}' has an until condition already; one may be given.")
        if self.quantifier.kind != "looping":
            raise _refused(
                "PATTERN_UNTIL",
                f"until() was called on pattern '{self.name}', which is no loop. Call one_or_more() or times_or_more() first.",
            )
        return replace(self, until_condition=condition_of("until", self.name, condition))

    # -- how often

    def one_or_more(self, window_time: Length | None = None) -> Self:
        """At least one event; `window_time` is the longest time from one to the next."""
        return self._repeated("one_or_more", "looping", 1, 1, window_time)

    def times(self, from_times: int, to_times: int | None = None, window_time: Length | None = None) -> Self:
        """So many events, or from so many to so many; from 0 makes the pattern optional."""
        if to_times is None:
            return self._repeated("times", "times", from_times, from_times, window_time)
        made = self._repeated("times", "times", from_times or 1, to_times, window_time)
        return made if from_times else replace(made, quantifier=replace(made.quantifier, optional=True))

    def times_or_more(self, times: int, window_time: Length | None = None) -> Self:
        """At least so many events."""
        return self._repeated("times_or_more", "looping", times, times, window_time)

    def optional(self) -> Self:
        """There may be no such event."""
        if self.quantifier.strategy.negative:
            raise self._of_a_not("optional")
        if self.previous is not None and self.previous.quantifier.greedy:
            raise _refused(
                "PATTERN_GREEDY",
                f"Pattern '{self.name}' is to be optional behind the greedy pattern '{self.previous.name}': it could not be "
                "said where the greedy one ends. Leave out greedy() or optional().",
            )
        if self.quantifier.optional:
            raise self._twice("optional")
        return replace(self, quantifier=replace(self.quantifier, optional=True))

    def greedy(self) -> Self:
        """The loop takes all it can: no match ends where it could have gone on."""
        self._refuse_not("greedy")
        if isinstance(self, GroupPattern):
            raise _refused("PATTERN_GREEDY", "greedy() was called on a group of patterns; it is for single patterns.")
        if self.quantifier.kind == "single":
            raise _refused(
                "PATTERN_GREEDY",
                f"greedy() was called on pattern '{self.name}', which takes one event. Call one_or_more() or times() first.",
            )
        if self.quantifier.inner is _ANY:
            raise _refused("PATTERN_GREEDY", f"Pattern '{self.name}' cannot be greedy and allow combinations.")
        return replace(self, quantifier=replace(self.quantifier, greedy=True))

    def consecutive(self) -> Self:
        """The events of the loop follow each other directly."""
        return self._inner("consecutive", _STRICT)

    def allow_combinations(self) -> Self:
        """The loop may leave out events that fit."""
        return self._inner("allow_combinations", _ANY)

    def _inner(self, method: str, strategy: ConsumingStrategy) -> Self:
        if self.quantifier.kind == "single":
            raise _refused(
                "PATTERN_QUANTIFIER",
                f"{method}() was called on pattern '{self.name}', which takes one event. Call one_or_more() or times() first.",
            )
        if self.quantifier.inner is not _NEXT:
            raise _refused(
                "PATTERN_QUANTIFIER",
                f"{method}() was called on pattern '{self.name}', and consecutive() or allow_combinations() was called "
                "before: one of them may be given, once.",
            )
        return replace(self, quantifier=replace(self.quantifier, inner=strategy))

    def _repeated(self, method: str, kind: str, lowest: int, highest: int, window_time: Length | None) -> Self:
        self._refuse_not(method)
        if self.quantifier.kind != "single":
            raise self._twice(method)
        if self.quantifier.optional:
            raise _refused(
                "PATTERN_QUANTIFIER",
                f"{method}() was called on pattern '{self.name}' behind optional(), which Flink would forget. Call "
                f"{method}(...).optional().",
            )
        if lowest <= 0 or highest < lowest:
            raise _refused(
                "PATTERN_TIMES",
                f"{method}() of pattern '{self.name}' got {lowest} to {highest} times; both must be greater than 0, and the "
                "second not less than the first. A pattern that may have no event is optional().",
            )
        length = None if window_time is None else self._length(method, window_time)
        quantifier = Quantifier(self.quantifier.strategy, kind)
        return replace(self, quantifier=quantifier, repetition=Times(lowest, highest, length))

    # -- time

    def within(self, window_time: Length | None, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Self:
        """How much time the match may take, from its first event to its last; or this event behind the one before."""
        if window_time is None:
            return self
        length = self._length("within", window_time)
        if within_type is WithinType.FIRST_AND_LAST:
            return replace(self, window=length)
        return replace(self, step_window=length)

    def _length(self, method: str, window_time: Length) -> int:
        length = millis_of(window_time)
        if length <= 0:
            raise _refused(
                "PATTERN_WITHIN",
                f"{method}() of pattern '{self.name}' got {length} ms; it must be positive, such as Duration.of_seconds(10).",
            )
        return length

    # -- what was said

    def steps(self) -> Iterator[Pattern[Any]]:
        """All steps, from the first to this one."""
        if self.previous is not None:
            yield from self.previous.steps()
        yield self

    def get_name(self) -> str:
        """The name by which a match has its events."""
        return self.name

    def get_previous(self) -> Pattern[Any] | None:
        """The step before; None: this is the first."""
        return self.previous

    def get_quantifier(self) -> Quantifier:
        """How often the event may come, and what may lie between."""
        return self.quantifier

    def get_times(self) -> Times | None:
        """From how many to how many events; None: one."""
        return self.repetition

    def get_condition(self) -> Condition:
        """What the event must fulfil."""
        return self.condition if self.condition is not None else Always()

    def get_until_condition(self) -> Condition | None:
        """What ends the loop."""
        return self.until_condition

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """In milliseconds."""
        return self.window if within_type is WithinType.FIRST_AND_LAST else self.step_window

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """What a match leaves of those that overlap it."""
        return self.skip

    def __repr__(self) -> str:
        return " -> ".join(f"{step.name}({step.quantifier.describe()})" for step in self.steps())

    # -- what cannot be

    def _refuse_not(self, method: str) -> None:
        if self.quantifier.strategy.negative:
            raise self._of_a_not(method)

    def _of_a_not(self, method: str) -> PlanError:
        return _refused(
            "PATTERN_NOT",
            f"{method}() was called on pattern '{self.name}', which stands for an event that must not come: it has no number.",
        )

    def _twice(self, method: str) -> PlanError:
        return _refused(
            "PATTERN_QUANTIFIER",
            f"{method}() was called on pattern '{self.name}', which has a quantifier already ({self.quantifier.describe()}).",
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupPattern(Pattern[T]):
    """Steps that are one step of another pattern: `group` is the last of them."""

    group: Pattern[Any] | None = None

    def where(self, condition: Any) -> NoReturn:
        """Not for a group: its steps have conditions."""
        raise self._no("where")

    def or_where(self, condition: Any) -> NoReturn:
        """Not for a group: its steps have conditions."""
        raise self._no("or_where")

    or_ = or_where

    def subtype(self, subtype_class: Any) -> NoReturn:
        """Not for a group: its steps have conditions."""
        raise self._no("subtype")

    def get_raw_pattern(self) -> Pattern[Any]:
        """The last step of the group."""
        assert self.group is not None
        return self.group

    def _no(self, method: str) -> UnsupportedOperation:
        return UnsupportedOperation(
            "PATTERN_GROUP", f"{method}() was called on a group of patterns. Call it on the patterns in the group."
        )


def _step(
    method: str,
    previous: Pattern[Any] | None,
    name: str | Pattern[Any],
    strategy: ConsumingStrategy,
    skip: AfterMatchSkipStrategy,
) -> Pattern[Any]:
    if previous is None and not isinstance(skip, AfterMatchSkipStrategy):
        raise _refused("PATTERN_SKIP", f"begin() got a {type(skip).__name__}; it takes an AfterMatchSkipStrategy.")
    if isinstance(name, Pattern):
        return GroupPattern("GroupPattern", previous, Quantifier(strategy), skip, group=name)
    if not name or not isinstance(name, str):
        raise _refused("PATTERN_NAME", f"{method}() got {name!r}; it takes a name, or a pattern as a group.")
    return Pattern(name, previous, Quantifier(strategy), skip)


def _refused(code: str, text: str) -> PlanError:
    return PlanError(code, text)
