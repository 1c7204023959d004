"""Patterns: chains of steps, each with a condition, a quantifier and a time limit. Steps are immutable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, NoReturn, Self, overload

from typing_extensions import TypeVar

from penstock.errors import PlanError, UnsupportedOperation, check_enum
from penstock.patterns.condition import (
    Always,
    Both,
    Condition,
    ConditionContext,
    Either,
    IsA,
    IterativeCondition,
    SimpleCondition,
    to_condition,
)
from penstock.patterns.quantifier import ConsumingStrategy, Quantifier, Times, WithinType
from penstock.patterns.skip import AfterMatchSkipStrategy
from penstock.time import Duration, to_millis

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
    """A pattern of events, represented by its last step. Every method returns a new pattern.

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
    window: int | None = None  # milliseconds between the first and the last event of a match
    step_window: int | None = None  # milliseconds between the previous event and this one

    # -- steps

    @overload
    @staticmethod
    def begin(name: str, skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern[Any]: ...

    @overload
    @staticmethod
    def begin(name: Pattern[S], skip_strategy: AfterMatchSkipStrategy | None = None) -> GroupPattern[S]: ...

    @staticmethod
    def begin(name: str | Pattern[Any], skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern[Any]:
        """Starts a pattern with an event, or with another pattern as a group.

        `name` identifies the events of the step in a match. `skip_strategy` determines which overlapping matches are emitted;
        by default all of them.
        """
        return _step("begin", None, name, _STRICT, skip_strategy or NO_SKIP)

    @overload
    def next(self, name: str) -> Pattern[T]: ...
    @overload
    def next(self, name: Pattern[T]) -> GroupPattern[T]: ...
    def next(self, name: str | Pattern[T]) -> Pattern[T]:
        """Appends a step whose event must directly follow the previous one (strict contiguity)."""
        return _step("next", self, name, _STRICT, self.skip)

    @overload
    def followed_by(self, name: str) -> Pattern[T]: ...
    @overload
    def followed_by(self, name: Pattern[T]) -> GroupPattern[T]: ...
    def followed_by(self, name: str | Pattern[T]) -> Pattern[T]:
        """Appends a step. Events that do not match are skipped until the first one that does (relaxed contiguity)."""
        return _step("followed_by", self, name, _NEXT, self.skip)

    @overload
    def followed_by_any(self, name: str) -> Pattern[T]: ...
    @overload
    def followed_by_any(self, name: Pattern[T]) -> GroupPattern[T]: ...
    def followed_by_any(self, name: str | Pattern[T]) -> Pattern[T]:
        """Appends a step that matches any later event, each in its own match (non-deterministic relaxed contiguity)."""
        return _step("followed_by_any", self, name, _ANY, self.skip)

    def not_next(self, name: str) -> Pattern[T]:
        """Appends a step that fails the match if the directly following event fulfils its condition."""
        return self._negative("not_next", name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern[T]:
        """Appends a step that fails the match if an event fulfils its condition before the next step matches.

        As the last step it requires a time limit (`within`), and the match is emitted when that time has passed.
        """
        return self._negative("not_followed_by", name, ConsumingStrategy.NOT_FOLLOW)

    def _negative(self, method: str, name: str, strategy: ConsumingStrategy) -> Pattern[T]:
        if self.quantifier.optional:
            raise UnsupportedOperation(
                "PATTERN_NOT_AFTER_OPTIONAL",
                f"{method}('{name}') follows the optional pattern '{self.name}', which is not defined in Flink. Write "
                "two patterns, one with the optional part and one without it.",
            )
        if not isinstance(name, str):
            raise _error("PATTERN_NAME", f"{method}() got a {type(name).__name__}. It takes the name of one event.")
        return _step(method, self, name, strategy, self.skip)

    # -- conditions

    def where(self, condition: Conditional[T]) -> Self:
        """Adds a condition. It is combined with earlier conditions by AND.

        The condition is a function of the event, a function of the event and a `ConditionContext`, or a condition object.
        """
        new = to_condition("where", self.name, condition)
        return replace(self, condition=new if self.condition is None else Both(self.condition, new))

    def or_where(self, condition: Conditional[T]) -> Self:
        """Adds a condition. It is combined with earlier conditions by OR."""
        new = to_condition("or_where", self.name, condition)
        return replace(self, condition=new if self.condition is None else Either(self.condition, new))

    or_ = or_where

    def subtype(self, subtype_class: type[S]) -> Pattern[S]:
        """Accepts only events that are instances of a class, in addition to earlier conditions."""
        if not isinstance(subtype_class, type):
            raise _error("PATTERN_CONDITION", f"subtype() of pattern '{self.name}' takes a class.")
        new = IsA(subtype_class)
        changed: Any = replace(self, condition=new if self.condition is None else Both(self.condition, new))
        return changed  # type: ignore[no-any-return]

    def until(self, condition: Conditional[T]) -> Self:
        """Ends the loop at the first event that fulfils a condition. That event is not part of the loop."""
        if self.until_condition is not None:
            raise _error("PATTERN_UNTIL", f"Pattern '{self.name}' already has an until condition. Only one is allowed.")
        if self.quantifier.kind != "looping":
            raise _error(
                "PATTERN_UNTIL",
                f"until() was called on pattern '{self.name}', which is not a loop. Call one_or_more() or times_or_more() first.",
            )
        return replace(self, until_condition=to_condition("until", self.name, condition))

    # -- quantifiers

    def one_or_more(self, window_time: Length | None = None) -> Self:
        """Matches one or more events. `window_time` limits the time between two consecutive ones."""
        return self._repeated("one_or_more", "looping", 1, 1, window_time)

    def times(self, from_times: int, to_times: int | None = None, window_time: Length | None = None) -> Self:
        """Matches exactly `from_times` events, or between `from_times` and `to_times`. With 0 the step is optional."""
        if to_times is None:
            return self._repeated("times", "times", from_times, from_times, window_time)
        repeated = self._repeated("times", "times", from_times or 1, to_times, window_time)
        return repeated if from_times else replace(repeated, quantifier=replace(repeated.quantifier, optional=True))

    def times_or_more(self, times: int, window_time: Length | None = None) -> Self:
        """Matches at least `times` events."""
        return self._repeated("times_or_more", "looping", times, times, window_time)

    def optional(self) -> Self:
        """Makes the step optional. A match may have no event for it."""
        if self.quantifier.strategy.negative:
            raise self._negative_error("optional")
        if self.previous is not None and self.previous.quantifier.greedy:
            raise _error(
                "PATTERN_GREEDY",
                f"Pattern '{self.name}' cannot be optional, because it follows the greedy pattern '{self.previous.name}', "
                "whose end would be ambiguous. Remove greedy() or optional().",
            )
        if self.quantifier.optional:
            raise self._quantifier_error("optional")
        return replace(self, quantifier=replace(self.quantifier, optional=True))

    def greedy(self) -> Self:
        """Makes the loop greedy. It takes as many events as possible, and shorter matches are not emitted."""
        self._check_not_negative("greedy")
        if isinstance(self, GroupPattern):
            raise _error(
                "PATTERN_GREEDY", "greedy() was called on a group of patterns. Only single patterns can be greedy."
            )
        if self.quantifier.kind == "single":
            raise _error(
                "PATTERN_GREEDY",
                f"greedy() was called on pattern '{self.name}', which takes one event. Call one_or_more() or times() first.",
            )
        if self.quantifier.inner is _ANY:
            raise _error("PATTERN_GREEDY", f"Pattern '{self.name}' cannot be greedy and allow combinations.")
        return replace(self, quantifier=replace(self.quantifier, greedy=True))

    def consecutive(self) -> Self:
        """Requires that the events of the loop directly follow each other (strict contiguity)."""
        return self._inner("consecutive", _STRICT)

    def allow_combinations(self) -> Self:
        """Also matches subsets of the events in the loop (non-deterministic relaxed contiguity)."""
        return self._inner("allow_combinations", _ANY)

    def _inner(self, method: str, strategy: ConsumingStrategy) -> Self:
        if self.quantifier.kind == "single":
            raise _error(
                "PATTERN_QUANTIFIER",
                f"{method}() was called on pattern '{self.name}', which takes one event. Call one_or_more() or times() first.",
            )
        if self.quantifier.inner is not _NEXT:
            raise _error(
                "PATTERN_QUANTIFIER",
                f"{method}() was called on pattern '{self.name}' after consecutive() or allow_combinations(). Call one of "
                "them, once.",
            )
        return replace(self, quantifier=replace(self.quantifier, inner=strategy))

    def _repeated(self, method: str, kind: str, lowest: int, highest: int, window_time: Length | None) -> Self:
        self._check_not_negative(method)
        if self.quantifier.kind != "single":
            raise self._quantifier_error(method)
        if self.quantifier.optional:
            raise _error(
                "PATTERN_QUANTIFIER",
                f"{method}() was called on pattern '{self.name}' after optional(), which Flink would forget. Call "
                f"{method}(...).optional() instead.",
            )
        if lowest <= 0 or highest < lowest:
            raise _error(
                "PATTERN_TIMES",
                f"{method}() of pattern '{self.name}' got {lowest} to {highest} times. Both must be greater than 0, and the "
                "second must not be less than the first. Use optional() for a step that may have no event.",
            )
        length = None if window_time is None else self._length(method, window_time)
        quantifier = Quantifier(self.quantifier.strategy, kind)
        return replace(self, quantifier=quantifier, repetition=Times(lowest, highest, length))

    # -- time

    def within(self, window_time: Length | None, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Self:
        """Limits the time of a match.

        By default the time is measured between the first and the last event of the match. With
        `WithinType.PREVIOUS_AND_CURRENT` it is measured between the previous event and the event of this step. Partial
        matches that exceed the time are dropped, or passed to a timeout handler.
        """
        if window_time is None:
            return self
        check_enum("within", within_type, WithinType)
        length = self._length("within", window_time)
        if within_type is WithinType.FIRST_AND_LAST:
            return replace(self, window=length)
        return replace(self, step_window=length)

    def _length(self, method: str, window_time: Length) -> int:
        length = to_millis(window_time)
        if length <= 0:
            raise _error(
                "PATTERN_WITHIN",
                f"{method}() of pattern '{self.name}' got {length} ms. The time must be positive, such as "
                "Duration.of_seconds(10).",
            )
        return length

    # -- attributes

    def steps(self) -> Iterator[Pattern[Any]]:
        """Returns all steps from the first to this one."""
        if self.previous is not None:
            yield from self.previous.steps()
        yield self

    def get_name(self) -> str:
        """Returns the name of the step, under which a match has its events."""
        return self.name

    def get_previous(self) -> Pattern[Any] | None:
        """Returns the previous step, or None for the first."""
        return self.previous

    def get_quantifier(self) -> Quantifier:
        """Returns the quantifier of the step."""
        return self.quantifier

    def get_times(self) -> Times | None:
        """Returns how many events the step has, or None for a single event."""
        return self.repetition

    def get_condition(self) -> Condition:
        """Returns the condition of the step."""
        return self.condition if self.condition is not None else Always()

    def get_until_condition(self) -> Condition | None:
        """Returns the condition that ends the loop, or None."""
        return self.until_condition

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """Returns the time limit in milliseconds, or None."""
        return self.window if within_type is WithinType.FIRST_AND_LAST else self.step_window

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Returns the skip strategy of the pattern."""
        return self.skip

    def __repr__(self) -> str:
        return " -> ".join(f"{step.name}({step.quantifier.describe()})" for step in self.steps())

    # -- errors

    def _check_not_negative(self, method: str) -> None:
        if self.quantifier.strategy.negative:
            raise self._negative_error(method)

    def _negative_error(self, method: str) -> PlanError:
        return _error(
            "PATTERN_NOT",
            f"{method}() was called on pattern '{self.name}', which excludes an event (not_next or not_followed_by) and "
            "cannot have a quantifier. Remove the call.",
        )

    def _quantifier_error(self, method: str) -> PlanError:
        return _error(
            "PATTERN_QUANTIFIER",
            f"{method}() was called on pattern '{self.name}', which already has a quantifier ({self.quantifier.describe()}).",
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupPattern(Pattern[T]):
    """A group of steps that is one step of another pattern. Quantifiers of the group apply to all its steps."""

    group: Pattern[Any] | None = None

    def where(self, condition: Any) -> NoReturn:
        """Not available for a group. Call it on the steps of the group."""
        raise self._unsupported("where")

    def or_where(self, condition: Any) -> NoReturn:
        """Not available for a group. Call it on the steps of the group."""
        raise self._unsupported("or_where")

    or_ = or_where

    def subtype(self, subtype_class: Any) -> NoReturn:
        """Not available for a group. Call it on the steps of the group."""
        raise self._unsupported("subtype")

    def get_raw_pattern(self) -> Pattern[Any]:
        """Returns the last step of the group."""
        assert self.group is not None
        return self.group

    def _unsupported(self, method: str) -> UnsupportedOperation:
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
        raise _error("PATTERN_SKIP", f"begin() got a {type(skip).__name__}. It takes an AfterMatchSkipStrategy.")
    if isinstance(name, Pattern):
        return GroupPattern("GroupPattern", previous, Quantifier(strategy), skip, group=name)
    if not name or not isinstance(name, str):
        raise _error("PATTERN_NAME", f"{method}() got {name!r}. It takes a name, or a pattern as a group.")
    return Pattern(name, previous, Quantifier(strategy), skip)


def _error(code: str, text: str) -> PlanError:
    return PlanError(code, text)
