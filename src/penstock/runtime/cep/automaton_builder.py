"""The last touch on an automaton: numbers, conditions as functions, and which events it may pass over unseen."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.patterns.condition import Always, Both, Condition, Either, Holds, IsA, Not
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.runtime.cep.automaton import FINAL, IGNORE, PROCEED, STOP, Automaton, Check, Edge, State, checked


def finish(pattern: Pattern[Any], made: list[State], window: int | None) -> Automaton:
    states = made[::-1]
    for number, state in enumerate(states):
        state.number = number
        for edge in state.edges:
            edge.check, edge.iterative = checked(edge.condition)
    for state in states:
        state.iterative = any(e.iterative for s in _within_reach(state) for e in s.edges)
    start = next(s for s in states if s.start)
    functions: dict[int, Any] = {id(f): f for s in states for e in s.edges for f in e.condition.functions()}
    atoms = tuple((1 << at, c, _may_hold(c)) for at, c in enumerate(_conditions(pattern)))
    return Automaton(
        states,
        start,
        window,
        pattern.skip,
        tuple(functions.values()),
        window is not None or any(s.window is not None for s in states),
        atoms,
        _is_quiet(states, {id(condition) for _, condition, _ in atoms}),
        _fingerprint(states, window),
    )


def _within_reach(state: State) -> list[State]:
    """A state, and those to which one can proceed from it without an event."""
    reached, waiting = [], [state]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.append(at)
            waiting += [e.target for e in at.edges if e.action == PROCEED]
    return reached


def _conditions(pattern: Pattern[Any]) -> Iterator[Condition]:
    """What the user asked of events, step by step."""
    for step in pattern.steps():
        if step.until_condition is not None:
            yield step.until_condition
        if isinstance(step, GroupPattern):
            yield from _conditions(step.get_raw_pattern())
        elif step.condition is not None:
            yield step.condition


def _is_quiet(states: list[State], known: set[int]) -> bool:
    """Whether an event that fulfils no condition leaves every partial match as it is."""
    for state in states:
        if state.kind in (FINAL, STOP):
            continue
        followed = _followed(state, known)
        if state.start:
            if any(e.action != IGNORE for e in followed):
                return False
        elif [(e.action, e.target) for e in followed] != [(IGNORE, state)]:
            return False
    return True


def _followed(state: State, known: set[int]) -> list[Edge]:
    """The edges that an event takes for which no condition of the user's holds."""
    none = dict.fromkeys(known, False)
    found, waiting = [], [state]
    while waiting:
        for edge in waiting.pop().edges:
            if holds(edge.condition, none):
                if edge.action == PROCEED:
                    waiting.append(edge.target)
                else:
                    found.append(edge)
    return found


def holds(condition: Condition, fulfilled: Mapping[int, bool]) -> bool:
    """Whether a condition of an edge holds, by the conditions of the user's that do (by their identity)."""
    found = fulfilled.get(id(condition))
    if found is not None:
        return found
    if isinstance(condition, Not):
        return not holds(condition.inner, fulfilled)
    if isinstance(condition, Both):
        return holds(condition.left, fulfilled) and holds(condition.right, fulfilled)
    return isinstance(condition, Always)


def _may_hold(condition: Condition) -> Check | None:
    """Whether a condition can hold, by what it asks of the event alone; None: it always can."""
    if isinstance(condition, (Holds, IsA)):
        check, iterative = checked(condition)
        return None if iterative else check
    if isinstance(condition, Both):
        left, right = _may_hold(condition.left), _may_hold(condition.right)
        if left is None or right is None:
            return left if right is None else right
        return _and(left, right)
    if isinstance(condition, Either):
        left, right = _may_hold(condition.left), _may_hold(condition.right)
        return None if left is None or right is None else _or(left, right)
    return None


def _and(left: Check, right: Check) -> Check:
    return lambda event: left(event) and right(event)


def _or(left: Check, right: Check) -> Check:
    return lambda event: left(event) or right(event)


def _fingerprint(states: list[State], window: int | None) -> int:
    told = [
        (s.name, s.pattern, s.kind, s.start, s.window, [(e.action, e.target.number) for e in s.edges]) for s in states
    ]
    return zlib.crc32(repr((told, window)).encode())
