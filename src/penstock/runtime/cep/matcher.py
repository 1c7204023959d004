"""Runs an automaton over the events of a key. It is independent of streams, keys and state storage.

A partial match is a tuple of the number of its first event (its rank), the number of its state, its events as a linked list
from the last to the first, and the times of its first and last events. Partial matches that branch off from one another share
the list. Nothing else refers to events, so events that no partial match needs are released.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import UserFunctionError
from penstock.patterns.condition import ConditionContext
from penstock.runtime.cep.automaton import (
    FINAL,
    IGNORE,
    NORMAL,
    NOT_EVALUATED,
    PENDING,
    PROCEED,
    Automaton,
    AutomatonState,
)
from penstock.runtime.cep.automaton_builder import holds
from penstock.runtime.cep.heap import pop, push, remove_if
from penstock.runtime.failure import PatternError

NO_EVENT_RANK = 2**62  # the rank of a match without events
NOT_DECODED: Any = object()


class Event:
    """An event of a key: its number, its timestamp, and its value as an object, as bytes, or both."""

    __slots__ = ("data", "fulfilled", "number", "timestamp", "updates_before", "value")

    def __init__(self, timestamp: int, value: Any, fulfilled: int = NOT_EVALUATED, data: bytes | None = None) -> None:
        self.number = 0
        self.updates_before = 0  # the number of pattern updates before the event
        self.timestamp = timestamp
        self.value = value
        self.fulfilled = fulfilled  # the fulfilled conditions as bits, if there is a single pattern
        self.data = data


EventLink = tuple[Event, str, Any]  # an event, the step that took it, and the link to the event before it (or None)
PartialMatch = tuple[int, int, Any, int, int]  # rank, state, EventLink or None, times of the first and last events
MatchResult = tuple[EventLink, int, bool]  # the events of a match or partial match, its time, whether it timed out
Transition = tuple[str | None, int, int, int]  # step that takes the event (or None), state, kind, final state (or -1)


class MatchState:
    """The partial matches of one key and one pattern."""

    __slots__ = ("completed", "partials")

    def __init__(self, partials: list[PartialMatch], completed: list[PartialMatch]) -> None:
        self.partials = partials
        self.completed = completed  # matches that wait because an earlier partial match may still complete


class Matcher(ConditionContext):
    """Runs an automaton. `read` decodes the stored bytes of an event."""

    def __init__(self, automaton: Automaton, read: Callable[[bytes], Any]) -> None:
        self.automaton = automaton
        self.now = 0
        self._read = read
        states = automaton.states
        self._start: PartialMatch = (NO_EVENT_RANK, automaton.start.number, None, -1, -1)
        self._pending = [s.kind == PENDING for s in states]
        self._windows = [s.window for s in states]
        self._has_step_windows = any(s.window is not None for s in states)
        # Transitions are computed once per state and set of fulfilled conditions.
        self._transition_cache: list[dict[int, tuple[Transition, ...]]] = [{} for _ in states]
        self._event: Any = None  # the event for which conditions are evaluated
        self._partial: Any = None
        self._matched: dict[str, list[Any]] | None = None

    def initial_state(self) -> MatchState:
        """Returns the state of a key without events."""
        return MatchState([self._start], [])

    def is_idle(self, match_state: MatchState) -> bool:
        """Returns whether there are no partial matches."""
        return len(match_state.partials) == 1 and match_state.partials[0] == self._start and not match_state.completed

    # -- time

    def deadline(self, match_state: MatchState) -> int | None:
        """Returns the time at which the first partial match times out, or None."""
        window = self.automaton.window
        partials = match_state.partials
        first: int | None = None
        if window is not None and partials and partials[0][2] is not None:
            first = partials[0][3] + window  # the first entry of the heap has the earliest start
        if self._has_step_windows:
            for _, state, link, _, continued in partials:
                step_window = self._windows[state]
                if link is not None and step_window is not None and (first is None or continued + step_window < first):
                    first = continued + step_window
        return first

    def time_out(self, match_state: MatchState, deadline: int) -> tuple[list[Any], list[Any]]:
        """Times out partial matches. Returns the matches that this completes, and the partial matches that timed out."""
        window = self.automaton.window
        remaining: list[PartialMatch] = []
        timed_out: list[Any] = []
        complete: list[PartialMatch] = []
        for partial in match_state.partials:
            _, state, link, started, continued = partial
            step_window = self._windows[state]
            step_over = step_window is not None and deadline - continued >= step_window
            if link is None or not (step_over or (window is not None and deadline - started >= window)):
                push(remaining, partial)
            elif self._pending[state]:
                push(complete, partial)
            else:
                timed_out.append(link)
        match_state.partials = remaining
        return self._release_matches(match_state, complete), timed_out

    # -- events

    def process_events(self, match_state: MatchState, events: list[Event], until: int) -> list[MatchResult]:
        """Processes events in order, times out partial matches in between, and advances time to `until`."""
        results: list[MatchResult] = []
        automaton, timed = self.automaton, self.automaton.has_timeouts
        for event in events:
            if timed and match_state.partials and match_state.partials[0][2] is not None:
                self._time_out_until(match_state, event.timestamp, results)
            fulfilled = event.fulfilled
            if fulfilled == NOT_EVALUATED:
                fulfilled = automaton.evaluate_conditions(event.value)
            for link in self.process_event(match_state, event, fulfilled):
                results.append((link, event.timestamp, False))
        if timed and match_state.partials and match_state.partials[0][2] is not None:
            self._time_out_until(match_state, until, results)
        return results

    def _time_out_until(self, match_state: MatchState, until: int, results: list[MatchResult]) -> None:
        while (deadline := self.deadline(match_state)) is not None and deadline <= until:
            matches, timed_out = self.time_out(match_state, deadline)
            results += [(link, deadline, False) for link in matches]
            results += [(link, deadline, True) for link in timed_out]

    def process_event(self, match_state: MatchState, event: Event, fulfilled: int) -> list[Any]:
        """Applies an event to all partial matches. Returns the events of the matches that it completes."""
        cache = self._transition_cache
        remaining: list[PartialMatch] = []
        complete: list[PartialMatch] = []
        for partial in match_state.partials:
            rank, state, link, started, _ = partial
            transitions = cache[state].get(fulfilled)
            if transitions is None:
                transitions = self._transitions(partial, event, fulfilled)
            if link is None:
                if not transitions:  # most events start no match
                    push(remaining, partial)
                    continue
                rank, started = event.number, event.timestamp
            continuing: list[PartialMatch] = []
            stopped = False
            for pattern, target, kind, final in transitions:
                if pattern is not None:
                    new = (rank, target, (event, pattern, link), started, event.timestamp)
                elif link is None:
                    continue
                else:
                    new = partial if target == state else (rank, target, link, started, partial[4])
                if kind in _WAITING:
                    continuing.append(new)
                elif kind == FINAL:
                    push(complete, new)
                else:
                    stopped = True
                if final >= 0:
                    push(complete, (rank, final, *new[2:]))
            if link is None:
                continuing.append(partial)
            if not stopped:
                for new in continuing:
                    push(remaining, new)
        match_state.partials = remaining
        if complete or match_state.completed:
            return self._release_matches(match_state, complete)
        return _NO_MATCHES

    def _transitions(self, partial: PartialMatch, event: Event, fulfilled: int) -> tuple[Transition, ...]:
        """Returns the transitions for an event from a state and from the states to which it can proceed."""
        state = self.automaton.states[partial[1]]
        if state.iterative or fulfilled == NOT_EVALUATED:
            self._partial, self._event, self._matched = partial, event, None
            return self._find_transitions(state, lambda edge: _check_edge(edge, event.value, self))
        by_condition = {id(condition): bool(fulfilled & bit) for bit, condition, _ in self.automaton.base_conditions}
        transitions = self._find_transitions(state, lambda edge: holds(edge.condition, by_condition))
        self._transition_cache[state.number][fulfilled] = transitions
        return transitions

    def _find_transitions(self, state: AutomatonState, follows: Callable[[Any], bool]) -> tuple[Transition, ...]:
        transitions: list[Transition] = []
        pending = [state]
        try:
            while pending:
                state = pending.pop()
                for edge in state.edges:
                    if not follows(edge):
                        continue
                    target = edge.target
                    if edge.action == PROCEED:
                        pending.append(target)
                    elif edge.action == IGNORE:
                        transitions.append((None, target.number, target.kind, -1))
                    else:
                        final = self._find_final_state(target, follows)
                        transitions.append((edge.source.pattern, target.number, target.kind, final))
        except Exception as error:
            raise PatternError(state.pattern, error) from error
        return tuple(transitions)

    def _find_final_state(self, state: AutomatonState, follows: Callable[[Any], bool]) -> int:
        """Returns the final state if it can be reached from a state without another event, else -1."""
        pending = [state]
        while pending:
            for edge in pending.pop().edges:
                if edge.action == PROCEED and follows(edge):
                    if edge.target.kind == FINAL:
                        return edge.target.number
                    pending.append(edge.target)
        return -1

    # -- matches

    def _release_matches(self, match_state: MatchState, complete: list[PartialMatch]) -> list[Any]:
        """Returns the matches to emit. With a skip strategy, matches wait while an earlier partial match may drop them."""
        completed, skip = match_state.completed, self.automaton.skip
        for match in complete:
            push(completed, match)
        links: list[Any] = []
        while completed:
            if skip.skips and match_state.partials and completed[0][0] > match_state.partials[0][0]:
                break
            match = pop(completed)
            links.append(match[2])
            if skip.skips:
                self._prune(match_state, match[2])
        return links

    def _prune(self, match_state: MatchState, link: EventLink) -> None:
        """Drops the partial matches and matches that the skip strategy excludes after a match."""
        skip = self.automaton.skip
        numbers: dict[str, list[int]] = {}
        current: Any = link
        while current is not None:
            numbers.setdefault(current[1], []).append(current[0].number)  # from the last event to the first
            current = current[2]
        everything = [n for events in numbers.values() for n in events]
        if skip.pattern_name is None:
            until = min(everything) + 1 if skip.kind == "skip_to_next" else max(everything) + 1
        else:
            events = numbers.get(skip.pattern_name)
            if not events:
                if skip.throws:
                    raise _skip_error(f"the match has no event of pattern '{skip.pattern_name}'")
                return
            until = events[-1] if skip.kind == "skip_to_first" else events[0]
            if skip.throws and until == min(everything):
                raise _skip_error(f"the event of pattern '{skip.pattern_name}' is the first event of the match")
        for heap in (match_state.partials, match_state.completed):
            remove_if(heap, lambda entry: entry[0] < until)

    def match_events(self, link: Any) -> dict[str, list[Any]]:
        """Returns the values of the events of a match by pattern name, in order."""
        path = []
        while link is not None:
            path.append(link)
            link = link[2]
        path.reverse()
        events: dict[str, list[Any]] = {}
        for event, name, _ in path:
            value = event.value
            if value is NOT_DECODED:
                value = event.value = self._read(event.data)
            if name in events:
                events[name].append(value)
            else:
                events[name] = [value]
        return events

    # -- the context of iterative conditions (ConditionContext)

    def get_events_for_pattern(self, name: str) -> list[Any]:
        if self._matched is None:
            self._matched = self.match_events(self._partial[2])
        return list(self._matched.get(name, ()))

    def accepted_events(self) -> Any:
        """Returns the events of the partial match for which conditions are evaluated: links from the last event, or None."""
        return self._partial[2]

    def event_under_test(self) -> Event | None:
        """Returns the event for which a condition was evaluated last."""
        event: Event | None = self._event
        return event

    def timestamp(self) -> int:
        return int(self._event.timestamp)

    def current_processing_time(self) -> int:
        return self.now


_NO_MATCHES: list[Any] = []
_WAITING = (NORMAL, PENDING)


def _check_edge(edge: Any, value: Any, context: ConditionContext) -> bool:
    check = edge.check
    return check is None or bool(check(value, context) if edge.iterative else check(value))


def _skip_error(reason: str) -> UserFunctionError:
    return UserFunctionError(
        "PATTERN_SKIP_MISSED",
        f"The skip strategy has throw_exception_on_miss() and cannot skip, because {reason}. Remove "
        "throw_exception_on_miss(), or choose another pattern to skip to.",
    )
