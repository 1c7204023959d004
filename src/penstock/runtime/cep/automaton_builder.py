"""Completes an automaton by numbering its states, compiling its conditions and determining which events it can ignore."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.patterns.condition import Always, Both, Condition, Either, Holds, IsA, Not
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.runtime.cep.automaton import (
    FINAL,
    IGNORE,
    PROCEED,
    STOP,
    Automaton,
    AutomatonState,
    ConditionCheck,
    Edge,
    compile_condition,
)


def build_automaton(pattern: Pattern[Any], reversed_states: list[AutomatonState], window: int | None) -> Automaton:
    """Returns the automaton of a pattern. The states are given from the last to the first."""
    states = reversed_states[::-1]
    for number, state in enumerate(states):
        state.number = number
        for edge in state.edges:
            edge.check, edge.iterative = compile_condition(edge.condition)
    for state in states:
        state.iterative = any(e.iterative for s in _reachable_states(state) for e in s.edges)
    start = next(s for s in states if s.start)
    functions: dict[int, Any] = {id(f): f for s in states for e in s.edges for f in e.condition.functions()}
    conditions = enumerate(_conditions(pattern))
    base_conditions = tuple((1 << index, condition, _may_hold(condition)) for index, condition in conditions)
    return Automaton(
        states,
        start,
        window,
        pattern.skip,
        tuple(functions.values()),
        window is not None or any(s.window is not None for s in states),
        base_conditions,
        _ignores_unmatched_events(states, {id(condition) for _, condition, _ in base_conditions}),
        _fingerprint(states, window),
    )


def _reachable_states(state: AutomatonState) -> list[AutomatonState]:
    """Returns a state and the states that are reachable from it without an event."""
    reachable, pending = [], [state]
    while pending:
        current = pending.pop()
        if current not in reachable:
            reachable.append(current)
            pending += [e.target for e in current.edges if e.action == PROCEED]
    return reachable


def _conditions(pattern: Pattern[Any]) -> Iterator[Condition]:
    """Yields the conditions that the user wrote, step by step."""
    for step in pattern.steps():
        if step.until_condition is not None:
            yield step.until_condition
        if isinstance(step, GroupPattern):
            yield from _conditions(step.get_raw_pattern())
        elif step.condition is not None:
            yield step.condition


def _ignores_unmatched_events(states: list[AutomatonState], known: set[int]) -> bool:
    """Returns whether an event that fulfils no condition leaves every partial match unchanged."""
    for state in states:
        if state.kind in (FINAL, STOP):
            continue
        followed = _edges_of_unmatched_event(state, known)
        if state.start:
            if any(e.action != IGNORE for e in followed):
                return False
        elif [(e.action, e.target) for e in followed] != [(IGNORE, state)]:
            return False
    return True


def _edges_of_unmatched_event(state: AutomatonState, known: set[int]) -> list[Edge]:
    """Returns the edges that an event follows if it fulfils none of the conditions that the user wrote."""
    none = dict.fromkeys(known, False)
    edges, pending = [], [state]
    while pending:
        for edge in pending.pop().edges:
            if holds(edge.condition, none):
                if edge.action == PROCEED:
                    pending.append(edge.target)
                else:
                    edges.append(edge)
    return edges


def holds(condition: Condition, fulfilled: Mapping[int, bool]) -> bool:
    """Returns whether the condition of an edge holds. `fulfilled` has the conditions of the user by identity."""
    result = fulfilled.get(id(condition))
    if result is not None:
        return result
    if isinstance(condition, Not):
        return not holds(condition.inner, fulfilled)
    if isinstance(condition, Both):
        return holds(condition.left, fulfilled) and holds(condition.right, fulfilled)
    return isinstance(condition, Always)


def _may_hold(condition: Condition) -> ConditionCheck | None:
    """Returns a check that is false if a condition cannot hold for an event. Returns None if it always can."""
    if isinstance(condition, (Holds, IsA)):
        check, iterative = compile_condition(condition)
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


def _and(left: ConditionCheck, right: ConditionCheck) -> ConditionCheck:
    return lambda event: left(event) and right(event)


def _or(left: ConditionCheck, right: ConditionCheck) -> ConditionCheck:
    return lambda event: left(event) or right(event)


def _fingerprint(states: list[AutomatonState], window: int | None) -> int:
    parts = [
        (s.name, s.pattern, s.kind, s.start, s.window, [(e.action, e.target.number) for e in s.edges]) for s in states
    ]
    return zlib.crc32(repr((parts, window)).encode())
