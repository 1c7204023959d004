"""The automaton of a pattern: its states and the edges between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.patterns.condition import Always, Both, Condition, Either, Holds, IsA, Not
from penstock.patterns.skip import AfterMatchSkipStrategy

TAKE, IGNORE, PROCEED = 0, 1, 2
NORMAL, FINAL, STOP, PENDING = 0, 1, 2, 3
NOT_EVALUATED = -1

ConditionCheck = Callable[..., bool]  # takes the event; an iterative condition also takes a context
CompiledCondition = tuple[ConditionCheck | None, bool]  # None if the condition always holds; whether it is iterative


@dataclass(slots=True, eq=False)
class Edge:
    """A transition to another state when a condition holds, and what happens to the event."""

    action: int
    source: AutomatonState
    target: AutomatonState
    condition: Condition
    check: ConditionCheck | None = None  # None if the condition always holds
    iterative: bool = False


@dataclass(slots=True, eq=False)
class AutomatonState:
    """A state of a partial match."""

    name: str  # unique
    pattern: str  # the name of the step whose events it takes
    kind: int = NORMAL
    number: int = 0
    start: bool = False
    edges: list[Edge] = field(default_factory=list)
    iterative: bool = False  # whether a reachable condition reads the events of the partial match
    window: int | None = None  # milliseconds to wait for the next event

    def add_edge(self, action: int, target: AutomatonState, condition: Condition) -> None:
        self.edges.append(Edge(action, self, target, condition))


@dataclass(slots=True, eq=False)
class Automaton:
    """A compiled pattern. All matches start in state 0."""

    states: list[AutomatonState]
    start: AutomatonState
    window: int | None
    skip: AfterMatchSkipStrategy
    functions: tuple[Any, ...]  # the conditions of the user, to be opened and closed
    has_timeouts: bool  # whether partial matches can time out
    base_conditions: tuple[tuple[int, Condition, ConditionCheck | None], ...]  # bit, condition, whether it can hold
    ignores_unmatched_events: bool  # whether an event that fulfils no condition never changes a partial match
    fingerprint: int  # of the states; stored partial matches can be read only with the same fingerprint

    def evaluate_conditions(self, event: Any) -> int:
        """Returns the conditions that an event can fulfil, as bits, or NOT_EVALUATED if a condition raises an exception."""
        fulfilled = 0
        try:
            for bit, _, check in self.base_conditions:
                if check is None or check(event):
                    fulfilled |= bit
        except Exception:  # raised again only if a partial match evaluates the condition
            return NOT_EVALUATED
        return fulfilled


def compile_condition(condition: Condition) -> CompiledCondition:
    """Returns a condition as a function, and whether that function takes a context."""
    if isinstance(condition, Always):
        return None, False
    if isinstance(condition, Holds):
        return getattr(condition.function, "filter", condition.function), condition.iterative
    if isinstance(condition, IsA):
        kind = condition.kind
        return lambda event: isinstance(event, kind), False
    if isinstance(condition, Not):
        return _not(*compile_condition(condition.inner))
    assert isinstance(condition, (Both, Either))
    combine = _and if isinstance(condition, Both) else _or
    return combine(compile_condition(condition.left), compile_condition(condition.right))


def _not(check: ConditionCheck | None, iterative: bool) -> CompiledCondition:
    if check is None:
        return _never, False
    if iterative:
        return lambda event, context: not check(event, context), True
    return lambda event: not check(event), False


def _never(event: Any) -> bool:
    return False


def _with_context(check: ConditionCheck, iterative: bool) -> ConditionCheck:
    return check if iterative else lambda event, context: check(event)


def _and(left: CompiledCondition, right: CompiledCondition) -> CompiledCondition:
    (f, f_iterative), (g, g_iterative) = left, right
    if f is None:
        return right
    if g is None:
        return left
    if f_iterative or g_iterative:
        check_f, check_g = _with_context(f, f_iterative), _with_context(g, g_iterative)
        return lambda event, context: bool(check_f(event, context) and check_g(event, context)), True
    return lambda event: bool(f(event) and g(event)), False


def _or(left: CompiledCondition, right: CompiledCondition) -> CompiledCondition:
    (f, f_iterative), (g, g_iterative) = left, right
    if f is None or g is None:
        return None, False
    if f_iterative or g_iterative:
        check_f, check_g = _with_context(f, f_iterative), _with_context(g, g_iterative)
        return lambda event, context: bool(check_f(event, context) or check_g(event, context)), True
    return lambda event: bool(f(event) or g(event)), False
