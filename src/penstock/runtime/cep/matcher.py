"""Runs an automaton over the events of a key. It knows nothing of streams, keys and stores.

A partial match is a tuple: the number of its first event (its rank), its state's number, its events as a linked list from
the last one back, the time of its first and of its last event. The list is shared by the partial matches that branched off
from one another, and nobody else refers to events: what no partial match needs is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import UserFunctionError
from penstock.patterns.condition import ConditionContext
from penstock.runtime.cep.automaton import FINAL, IGNORE, NORMAL, PENDING, PROCEED, UNKNOWN, Automaton, State
from penstock.runtime.cep.finish import holds
from penstock.runtime.cep.queue import add, poll, remove

NOTHING_YET = 2**62  # the rank of a match that has no event
UNREAD: Any = object()


class Event:
    """An event of a key: its number there, its time, and its value as an object, as bytes, or both."""

    __slots__ = ("came", "data", "fulfilled", "number", "timestamp", "value")

    def __init__(self, timestamp: int, value: Any, fulfilled: int = UNKNOWN, data: bytes | None = None) -> None:
        self.number = 0
        self.came = 0  # behind how many changes of patterns
        self.timestamp = timestamp
        self.value = value
        self.fulfilled = fulfilled  # conditions, as bits of the one pattern; UNKNOWN: ask the pattern
        self.data = data


Taken = tuple[Event, str, Any]  # an event, the pattern that took it, and what was taken before (None: nothing)
Partial = tuple[int, int, Any, int, int]  # rank, state, Taken or None, time of the first event, of the last
Found = tuple[Taken, int, bool]  # the events of a match or partial match, its time, whether its time was over
Move = tuple[
    str | None, int, int, int
]  # the pattern that takes the event (None: passed over), state, its kind, final state


class Run:
    """What is under way for one key and one pattern."""

    __slots__ = ("completed", "partials")

    def __init__(self, partials: list[Partial], completed: list[Partial]) -> None:
        self.partials = partials
        self.completed = completed  # matches that wait for an earlier partial match


class Matcher(ConditionContext):
    """An automaton at work. `read` turns an event's bytes into its value."""

    def __init__(self, automaton: Automaton, read: Callable[[bytes], Any]) -> None:
        self.automaton = automaton
        self.now = 0
        self._read = read
        states = automaton.states
        self._start: Partial = (NOTHING_YET, automaton.start.number, None, -1, -1)
        self._started_with = [self._start]
        self._pending = [s.kind == PENDING for s in states]
        self._windows = [s.window for s in states]
        self._stepwise = any(s.window is not None for s in states)
        # Where an event leads is worked out once for each state and each set of conditions that an event fulfils.
        self._known: list[dict[int, tuple[Move, ...]]] = [{} for _ in states]
        self._event: Any = None  # that conditions are being asked about
        self._partial: Any = None
        self._matched: dict[str, list[Any]] | None = None

    def begin(self) -> Run:
        return Run([self._start], [])

    def is_idle(self, run: Run) -> bool:
        """Whether nothing is under way."""
        return len(run.partials) == 1 and run.partials[0] == self._start and not run.completed

    # -- time

    def deadline(self, run: Run) -> int | None:
        """When the first of the partial matches times out."""
        window = self.automaton.window
        partials = run.partials
        first: int | None = None
        if window is not None and partials and partials[0][2] is not None:
            first = partials[0][3] + window  # the heap's first has the earliest start
        if self._stepwise:
            for _, state, taken, _, continued in partials:
                between = self._windows[state]
                if taken is not None and between is not None and (first is None or continued + between < first):
                    first = continued + between
        return first

    def time_out(self, run: Run, deadline: int) -> tuple[list[Any], list[Any]]:
        """Lets the time of partial matches be over: the matches that this completes, and the partial matches it ends."""
        window = self.automaton.window
        left: list[Partial] = []
        over: list[Any] = []
        complete: list[Partial] = []
        for partial in run.partials:
            _, state, taken, started, continued = partial
            between = self._windows[state]
            by_step = between is not None and deadline - continued >= between
            if taken is None or not (by_step or (window is not None and deadline - started >= window)):
                add(left, partial)
            elif self._pending[state]:
                add(complete, partial)
            else:
                over.append(taken)
        run.partials = left
        return self._released(run, complete), over

    # -- events

    def feed(self, run: Run, events: list[Event], until: int) -> list[Found]:
        """Shows events in order, with the ends of partial matches between them, and lets time go on to `until`."""
        found: list[Found] = []
        automaton, timed = self.automaton, self.automaton.timed
        for event in events:
            if timed and run.partials and run.partials[0][2] is not None:
                self._expire(run, event.timestamp, found)
            fulfilled = event.fulfilled
            if fulfilled == UNKNOWN:
                fulfilled = automaton.conditions_of(event.value)
            for taken in self.step(run, event, fulfilled):
                found.append((taken, event.timestamp, False))
        if timed and run.partials and run.partials[0][2] is not None:
            self._expire(run, until, found)
        return found

    def _expire(self, run: Run, until: int, found: list[Found]) -> None:
        while (deadline := self.deadline(run)) is not None and deadline <= until:
            matches, over = self.time_out(run, deadline)
            found += [(taken, deadline, False) for taken in matches]
            found += [(taken, deadline, True) for taken in over]

    def step(self, run: Run, event: Event, fulfilled: int) -> list[Any]:
        """Shows an event to all partial matches; gives the events of the matches that are complete now."""
        known = self._known
        left: list[Partial] = []
        complete: list[Partial] = []
        for partial in run.partials:
            rank, state, taken, started, _ = partial
            moves = known[state].get(fulfilled)
            if moves is None:
                moves = self._moves(partial, event, fulfilled)
            if taken is None:
                if not moves:  # most events start nothing
                    add(left, partial)
                    continue
                rank, started = event.number, event.timestamp
            kept: list[Partial] = []
            stopped = False
            for pattern, target, kind, final in moves:
                if pattern is not None:
                    new = (rank, target, (event, pattern, taken), started, event.timestamp)
                elif taken is None:
                    continue
                else:
                    new = partial if target == state else (rank, target, taken, started, partial[4])
                if kind in _WAITING:
                    kept.append(new)
                elif kind == FINAL:
                    add(complete, new)
                else:
                    stopped = True
                if final >= 0:
                    add(complete, (rank, final, *new[2:]))
            if taken is None:
                kept.append(partial)
            if not stopped:
                for new in kept:
                    add(left, new)
        run.partials = left
        if complete or run.completed:
            return self._released(run, complete)
        return _NOTHING

    def _moves(self, partial: Partial, event: Event, fulfilled: int) -> tuple[Move, ...]:
        """Where an event leads from a state, and from those to which one can proceed."""
        state = self.automaton.states[partial[1]]
        if state.iterative or fulfilled == UNKNOWN:
            self._partial, self._event, self._matched = partial, event, None
            return self._found(state, lambda edge: _asked(edge, event.value, self))
        by_condition = {id(condition): bool(fulfilled & bit) for bit, condition, _ in self.automaton.atoms}
        moves = self._found(state, lambda edge: holds(edge.condition, by_condition))
        self._known[state.number][fulfilled] = moves
        return moves

    def _found(self, state: State, follows: Callable[[Any], bool]) -> tuple[Move, ...]:
        found: list[Move] = []
        waiting = [state]
        try:
            while waiting:
                state = waiting.pop()
                for edge in state.edges:
                    if not follows(edge):
                        continue
                    target = edge.target
                    if edge.action == PROCEED:
                        waiting.append(target)
                    elif edge.action == IGNORE:
                        found.append((None, target.number, target.kind, -1))
                    else:
                        final = self._final_behind(target, follows)
                        found.append((edge.source.pattern, target.number, target.kind, final))
        except Exception as error:
            if not hasattr(error, "penstock_pattern"):
                error.penstock_pattern = state.pattern  # type: ignore[attr-defined]  # to be told with the error
            raise
        return tuple(found)

    def _final_behind(self, state: State, follows: Callable[[Any], bool]) -> int:
        """The final state, if one can proceed to it from here: the event just taken may have been the last. -1: none."""
        waiting = [state]
        while waiting:
            for edge in waiting.pop().edges:
                if edge.action == PROCEED and follows(edge):
                    if edge.target.kind == FINAL:
                        return edge.target.number
                    waiting.append(edge.target)
        return -1

    # -- matches

    def _released(self, run: Run, complete: list[Partial]) -> list[Any]:
        """The matches to emit; those behind an earlier partial match wait, when a skip strategy could drop them."""
        completed, skip = run.completed, self.automaton.skip
        for match in complete:
            add(completed, match)
        found: list[Any] = []
        while completed:
            if skip.skips and run.partials and completed[0][0] > run.partials[0][0]:
                break
            match = poll(completed)
            found.append(match[2])
            if skip.skips:
                self._prune(run, match[2])
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
            remove(heap, lambda entry: entry[0] < until)

    def events_of(self, taken: Any) -> dict[str, list[Any]]:
        """The values of a match's events, by pattern, in order."""
        path = []
        while taken is not None:
            path.append(taken)
            taken = taken[2]
        path.reverse()
        found: dict[str, list[Any]] = {}
        for event, name, _ in path:
            value = event.value
            if value is UNREAD:
                value = event.value = self._read(event.data)
            if name in found:
                found[name].append(value)
            else:
                found[name] = [value]
        return found

    # -- the context of iterative conditions

    def get_events_for_pattern(self, name: str) -> list[Any]:
        if self._matched is None:
            self._matched = self.events_of(self._partial[2])
        return list(self._matched.get(name, ()))

    def asked_about(self) -> Event | None:
        """The event whose condition was asked for last."""
        event: Event | None = self._event
        return event

    def timestamp(self) -> int:
        return int(self._event.timestamp)

    def current_processing_time(self) -> int:
        return self.now


_NOTHING: list[Any] = []
_WAITING = (NORMAL, PENDING)


def _asked(edge: Any, value: Any, context: ConditionContext) -> bool:
    check = edge.check
    return check is None or bool(check(value, context) if edge.iterative else check(value))


def _no_skip(why: str) -> UserFunctionError:
    return UserFunctionError(
        "PATTERN_SKIP_MISSED",
        f"The skip strategy was told to fail when it finds nothing to skip to, and {why}. Leave out "
        "throw_exception_on_miss(), or choose another pattern to skip to.",
    )
