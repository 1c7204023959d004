"""Runs an automaton over the events of a key. It knows nothing of streams, keys and stores.

A partial match is a tuple: the number of its first event (its rank), its state, its events as a linked list from the last
one back, the time of its first and of its last event. The list is shared by the partial matches that branched off from one
another, and nobody else refers to events: what no partial match needs is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.errors import UserFunctionError
from penstock.patterns.condition import ConditionContext
from penstock.runtime.cep.automaton import FINAL, IGNORE, PENDING, PROCEED, STOP, Automaton, Edge, State
from penstock.runtime.cep.queue import add, poll, remove

NOTHING_YET = 2**62  # the rank of a match that has no event
UNREAD: Any = object()


class Event:
    """An event of a key: its number there, its time, and its value as an object, as bytes, or both."""

    __slots__ = ("data", "number", "timestamp", "value")

    def __init__(self, number: int, timestamp: int, value: Any = UNREAD, data: bytes | None = None) -> None:
        self.number = number
        self.timestamp = timestamp
        self.value = value
        self.data = data


Taken = tuple[Event, str, Any]  # an event, the pattern that took it, and what was taken before (None: nothing)


class Partial(NamedTuple):
    rank: int
    state: State
    taken: Any  # Taken or None
    started: int
    continued: int


class Run:
    """What is under way for one key and one pattern."""

    __slots__ = ("completed", "partials")

    def __init__(self, partials: list[Partial], completed: list[Partial] | None = None) -> None:
        self.partials = partials
        self.completed: list[Partial] = [] if completed is None else completed  # wait for an earlier partial match


class Matcher(ConditionContext):
    """An automaton at work. `read` turns an event's bytes into its value."""

    def __init__(self, automaton: Automaton, read: Callable[[bytes], Any]) -> None:
        self.automaton = automaton
        self.now = 0
        self._read = read
        self._start = Partial(NOTHING_YET, automaton.start, None, -1, -1)
        self._started_with = [self._start]
        self._event: Any = None
        self._partial: Any = None
        self._known: dict[str, list[Any]] | None = None

    def begin(self) -> Run:
        return Run([self._start])

    def is_idle(self, run: Run) -> bool:
        """Whether nothing is under way."""
        return run.partials == self._started_with and not run.completed

    # -- time

    def deadline(self, run: Run) -> int | None:
        """When the first of the partial matches times out."""
        window = self.automaton.window
        first: int | None = None
        for _, state, taken, started, continued in run.partials:
            if taken is None:
                continue
            if window is not None and (first is None or started + window < first):
                first = started + window
            if state.window is not None and (first is None or continued + state.window < first):
                first = continued + state.window
        return first

    def time_out(self, run: Run, deadline: int) -> tuple[list[Any], list[Any]]:
        """Lets the time of partial matches be over: the matches that this completes, and the partial matches it ends."""
        window = self.automaton.window
        left: list[Partial] = []
        over: list[Any] = []
        complete: list[Partial] = []
        for partial in run.partials:
            _, state, taken, started, continued = partial
            by_step = state.window is not None and deadline - continued >= state.window
            if taken is None or not (by_step or (window is not None and deadline - started >= window)):
                add(left, partial)
            elif state.kind == PENDING:
                add(complete, partial)
            else:
                over.append(taken)
        run.partials = left
        return self._released(run, complete), over

    # -- events

    def step(self, run: Run, event: Event) -> list[Any]:
        """Shows an event to all partial matches; gives the events of the matches that are complete now."""
        left: list[Partial] = []
        complete: list[Partial] = []
        for partial in run.partials:
            edges = self._edges(partial, event)
            if partial.taken is None and not edges:  # most events start nothing
                add(left, partial)
                continue
            kept: list[Partial] = []
            stopped = False
            for new in self._next(partial, event, edges):
                kind = new.state.kind
                if kind == FINAL:
                    add(complete, new)
                elif kind == STOP:
                    stopped = True
                else:
                    kept.append(new)
            if not stopped:
                for new in kept:
                    add(left, new)
        run.partials = left
        return self._released(run, complete)

    def _next(self, partial: Partial, event: Event, edges: list[Edge]) -> list[Partial]:
        """What becomes of a partial match when it follows some edges."""
        found: list[Partial] = []
        rank, state, taken, started, _ = partial
        time = event.timestamp
        for edge in edges:
            if edge.action == IGNORE:
                if taken is not None:
                    found.append(partial if edge.target is state else partial._replace(state=edge.target))
                continue
            now = (event, edge.source.pattern, taken)
            if taken is None:
                new = Partial(event.number, edge.target, now, time, time)
            else:
                new = Partial(rank, edge.target, now, started, time)
            found.append(new)
            final = self._final_behind(edge.target, partial, event)
            if final is not None:
                found.append(new._replace(state=final))
        if state.start:
            found.append(self._start)
        return found

    def _edges(self, partial: Partial, event: Event) -> list[Edge]:
        """The edges that take or pass over the event, from the state and from those to which one can proceed."""
        state = partial.state
        found: list[Edge] = []
        value = event.value
        if state.iterative:
            self._look_at(partial, event)
        waiting = [state]
        try:
            while waiting:
                state = waiting.pop()
                for edge in state.edges:
                    check = edge.check
                    if check is None or (check(value, self) if edge.iterative else check(value)):
                        if edge.action == PROCEED:
                            waiting.append(edge.target)
                        else:
                            found.append(edge)
        except Exception as error:
            error.penstock_pattern = state.pattern  # type: ignore[attr-defined]  # to be told with the error
            raise
        return found

    def _final_behind(self, state: State, partial: Partial, event: Event) -> State | None:
        """The final state, if one can proceed to it from here: the event just taken may have been the last."""
        if state.kind == FINAL or not any(e.action == PROCEED for e in state.edges):
            return None
        if state.iterative:
            self._look_at(partial, event)
        waiting = [state]
        try:
            while waiting:
                state = waiting.pop()
                for edge in state.edges:
                    if edge.action != PROCEED:
                        continue
                    check = edge.check
                    if check is None or (check(event.value, self) if edge.iterative else check(event.value)):
                        if edge.target.kind == FINAL:
                            return edge.target
                        waiting.append(edge.target)
        except Exception as error:
            error.penstock_pattern = state.pattern  # type: ignore[attr-defined]  # to be told with the error
            raise
        return None

    # -- matches

    def _released(self, run: Run, complete: list[Partial]) -> list[Any]:
        """The matches to emit; those behind an earlier partial match wait, when a skip strategy could drop them."""
        completed, skip = run.completed, self.automaton.skip
        for match in complete:
            add(completed, match)
        found: list[Any] = []
        while completed:
            if skip.skips and run.partials and completed[0].rank > run.partials[0].rank:
                break
            match = poll(completed)
            found.append(match.taken)
            if skip.skips:
                self._prune(run, match.taken)
        return found

    def _prune(self, run: Run, taken: Taken) -> None:
        """Drops what the skip strategy does not want beside a match."""
        skip = self.automaton.skip
        numbers: dict[str, list[int]] = {}
        at: Any = taken
        while at is not None:
            numbers.setdefault(at[1], []).append(at[0].number)  # from the last event back
            at = at[2]
        everything = [n for events in numbers.values() for n in events]
        if skip.pattern_name is None:
            until = min(everything) + 1 if skip.kind == "skip_to_next" else max(everything) + 1
        else:
            events = numbers.get(skip.pattern_name)
            if not events:
                if skip.throws:
                    raise _no_skip(f"there is no event of pattern '{skip.pattern_name}' in a match")
                return
            until = events[-1] if skip.kind == "skip_to_first" else events[0]
            if skip.throws and until == min(everything):
                raise _no_skip(f"the event of pattern '{skip.pattern_name}' is the first one of a match")
        for heap in (run.partials, run.completed):
            remove(heap, lambda entry: entry.rank < until)

    def events_of(self, taken: Any) -> dict[str, list[Any]]:
        """The values of a match's events, by pattern, in order."""
        path = []
        while taken is not None:
            path.append(taken)
            taken = taken[2]
        found: dict[str, list[Any]] = {}
        for event, name, _ in reversed(path):
            if event.value is UNREAD:
                event.value = self._read(event.data)
            found.setdefault(name, []).append(event.value)
        return found

    # -- the context of iterative conditions

    def _look_at(self, partial: Partial, event: Event) -> None:
        self._partial, self._event, self._known = partial, event, None

    def get_events_for_pattern(self, name: str) -> list[Any]:
        if self._known is None:
            self._known = self.events_of(self._partial.taken)
        return list(self._known.get(name, ()))

    def timestamp(self) -> int:
        return int(self._event.timestamp)

    def current_processing_time(self) -> int:
        return self.now


def _no_skip(why: str) -> UserFunctionError:
    return UserFunctionError(
        "PATTERN_SKIP_MISSED",
        f"The skip strategy was told to fail when it finds nothing to skip to, and {why}. Leave out "
        "throw_exception_on_miss(), or choose another pattern to skip to.",
    )
