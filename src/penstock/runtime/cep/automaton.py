"""The automaton of a pattern: states, and the edges between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.patterns.condition import Always, Both, Condition, Either, Holds, IsA, Not
from penstock.patterns.skip import AfterMatchSkipStrategy

TAKE, IGNORE, PROCEED = 0, 1, 2
NORMAL, FINAL, STOP, PENDING = 0, 1, 2, 3
UNKNOWN = -1

Check = Callable[..., bool]  # of the event; or, when it is iterative, of the event and a context


@dataclass(slots=True, eq=False)
class Edge:
    """Where a partial match goes when a condition holds, and what it does with the event."""

    action: int
    source: State
    target: State
    condition: Condition
    check: Check | None = None  # None: always
    iterative: bool = False


@dataclass(slots=True, eq=False)
class State:
    """What a partial match waits for."""

    name: str  # unique
    pattern: str  # whose events it takes
    kind: int = NORMAL
    number: int = 0
    start: bool = False
    edges: list[Edge] = field(default_factory=list)
    iterative: bool = False  # some condition within reach looks at the partial match
    window: int | None = None  # how long it may wait for its event

    def add(self, action: int, target: State, condition: Condition) -> None:
        self.edges.append(Edge(action, self, target, condition))


@dataclass(slots=True, eq=False)
class Automaton:
    """A compiled pattern. State 0 is where all matches start."""

    states: list[State]
    start: State
    window: int | None
    skip: AfterMatchSkipStrategy
    functions: tuple[Any, ...]  # the user's conditions, to be opened and closed
    timed: bool  # partial matches can time out
    atoms: tuple[
        tuple[int, Condition, Check | None], ...
    ]  # what the user asked of events: a bit, and whether it can hold
    quiet: bool  # an event that fulfils no condition changes nothing, whatever was matched before
    fingerprint: int  # of the states: stored partial matches fit this automaton alone

    def conditions_of(self, event: Any) -> int:
        """Which conditions an event fulfils, by what they ask of the event alone, as bits; UNKNOWN if one cannot say."""
        fulfilled = 0
        try:
            for bit, _, check in self.atoms:
                if check is None or check(event):
                    fulfilled |= bit
        except Exception:  # perhaps no partial match would ask: it is told where one does
            return UNKNOWN
        return fulfilled


def checked(condition: Condition) -> tuple[Check | None, bool]:
    """A condition as a function, and whether that function wants a context."""
    if isinstance(condition, Always):
        return None, False
    if isinstance(condition, Holds):
        return getattr(condition.function, "filter", condition.function), condition.iterative
    if isinstance(condition, IsA):
        kind = condition.kind
        return lambda event: isinstance(event, kind), False
    if isinstance(condition, Not):
        return _not(*checked(condition.inner))
    assert isinstance(condition, (Both, Either))
    combine = _both if isinstance(condition, Both) else _either
    return combine(checked(condition.left), checked(condition.right))


def _not(check: Check | None, iterative: bool) -> tuple[Check | None, bool]:
    if check is None:
        return _never, False
    if iterative:
        return lambda event, context: not check(event, context), True
    return lambda event: not check(event), False


def _never(event: Any) -> bool:
    return False


def _wide(check: Check, iterative: bool) -> Check:
    return check if iterative else lambda event, context: check(event)


def _both(left: tuple[Check | None, bool], right: tuple[Check | None, bool]) -> tuple[Check | None, bool]:
    (f, f_iterative), (g, g_iterative) = left, right
    if f is None:
        return right
    if g is None:
        return left
    if f_iterative or g_iterative:
        wide_f, wide_g = _wide(f, f_iterative), _wide(g, g_iterative)
        return lambda event, context: bool(wide_f(event, context) and wide_g(event, context)), True
    return lambda event: bool(f(event) and g(event)), False


def _either(left: tuple[Check | None, bool], right: tuple[Check | None, bool]) -> tuple[Check | None, bool]:
    (f, f_iterative), (g, g_iterative) = left, right
    if f is None or g is None:
        return None, False
    if f_iterative or g_iterative:
        wide_f, wide_g = _wide(f, f_iterative), _wide(g, g_iterative)
        return lambda event, context: bool(wide_f(event, context) or wide_g(event, context)), True
    return lambda event: bool(f(event) or g(event)), False
