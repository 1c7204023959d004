"""Matches patterns on a keyed stream (time.md 4.3).

In event time a key's events are shown to its patterns by timestamp, once the watermark has passed them; in processing time,
as they come. A key has one entry of state and at most one timer that matters: at its first waiting event, or when its
first partial match times out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from penstock.errors import StateError, TimeError
from penstock.functions import Function, OutputTag
from penstock.patterns.function import PatternContext
from penstock.patterns.pattern import Pattern
from penstock.runtime.cep.automaton import UNKNOWN, Automaton
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.key_state import EventCodec, KeyState, pack, unpack
from penstock.runtime.cep.matcher import UNREAD, Event, Found, Matcher
from penstock.runtime.lateness import pattern_is_late
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.stamped import Stamped
from penstock.runtime.state.own_form import OwnFormDescriptor
from penstock.runtime.timers import Timer
from penstock.time import NO_TIMESTAMP
from penstock.types import TypeInformation, Types

Emit = Callable[[Any, int], None]  # a result and its time
ONLY = ""  # the id of the pattern where there is one


class MatchContext(PatternContext):
    """What is known of the match that a function is given."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self.time = 0
        self.pattern: str | None = None

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._context.now

    def get_current_key(self) -> Any:
        return self._context.cell.at

    def pattern_id(self) -> str | None:
        return self.pattern


class PatternOperator:
    """Gives matches of a pattern to a function with `process_match(match, ctx)`.

    >>> PatternOperator(Pattern.begin("a"), None).late_records
    0
    """

    keyed = True
    stamps_results = True

    def __init__(
        self,
        pattern: Pattern[Any] | None,
        function: Any,
        *,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag[Any] | None = None,
        element_type: TypeInformation | None = None,
    ) -> None:
        self.late_records = 0
        self.event_time = event_time
        self.late_tag = late_tag
        self.comes_in_batches = event_time
        self._function = function
        self._order = None if comparator is None else cmp_to_key(comparator)
        self._codec = EventCodec(element_type)
        self._on_timeout: Any = getattr(function, "process_timed_out_match", None)
        self._matchers: dict[str, tuple[str, Matcher]] = {}
        self.quiet = False  # an event that fulfils no condition concerns nobody
        self._timed = False
        self._context: Any = None
        if pattern is not None:
            self._take_pattern(ONLY, "", pattern)

    def _take_pattern(self, pattern_id: str, version: str, pattern: Pattern[Any]) -> Matcher:
        automaton = compile_pattern(pattern)
        matcher = Matcher(automaton, self._codec.decode)
        self._matchers[pattern_id] = f"{version}#{automaton.fingerprint}", matcher
        self._summarize()
        return matcher

    def _summarize(self) -> None:
        automata = [matcher.automaton for _, matcher in self._matchers.values()]
        self.conditions_of = automata[0].conditions_of if len(automata) == 1 else _of_several(automata)
        self.quiet = all(a.quiet for a in automata)
        self._timed = any(a.timed for a in automata)

    def open(self, context: OperatorContext) -> None:
        self._context = context
        described = OwnFormDescriptor("patterns", "value", self._codec.shape(), Types.PRIMITIVE_ARRAY(Types.BYTE()))
        self._kept = context.backend.handle(described)
        self._match = MatchContext(context)
        self._timers = context.event_timers if self.event_time else context.processing_timers
        for function in self._functions():
            function.open(context.runtime)

    def close(self) -> None:
        for function in self._functions():
            function.close()

    def _functions(self) -> list[Function]:
        conditions = [f for _, m in self._matchers.values() for f in m.automaton.functions]
        return [f for f in (self._function, *conditions) if isinstance(f, Function)]

    # -- one call at a time

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (self._in_event_time if self.event_time else self._in_processing_time,)

    def _in_event_time(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if pattern_is_late(timestamp, context.watermark):
            return self.late(value, timestamp)
        fulfilled = self.conditions_of(value)
        if self.quiet and not fulfilled:
            return None
        state = self.load()
        state.queue.append(self.event(timestamp, value, fulfilled))
        self.save(state)
        return None

    def _in_processing_time(self, value: Any, context: OperatorContext) -> Emitted:
        fulfilled = self.conditions_of(value)
        if self.quiet and not fulfilled:
            return None
        state = self.load()
        found: list[Any] = []
        state.queue.append(self.event(context.now, value, fulfilled))
        if self._order is None:
            self.advance(state, context.now, lambda result, _: found.append(Stamped(result, NO_TIMESTAMP)))
        self.save(state)
        return found or None

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        state = self.load()
        if state.timer is not None and timer.time >= state.timer:
            state.timer = None
        found: list[Any] = []
        if self.event_time:
            self.advance(state, context.watermark, lambda result, time: found.append(Stamped(result, time)))
        else:
            self.advance(state, context.now, lambda result, _: found.append(Stamped(result, NO_TIMESTAMP)))
        self.save(state)
        return found or None

    def late(self, value: Any, timestamp: int) -> Emitted:
        if timestamp == NO_TIMESTAMP:
            raise TimeError(
                "ELEMENT_WITHOUT_TIMESTAMP",
                "An element without a timestamp came to a pattern in event time. Call assign_timestamps_and_watermarks with "
                "a timestamp assigner before CEP.pattern, or use in_processing_time().",
            )
        if self.late_tag is not None:
            return ((self.late_tag, value),)
        self.late_records += 1
        return None

    def begin_batch(self) -> None:
        """Called before the elements of a batch."""

    event = staticmethod(Event)  # how one is made of an element

    # -- the state of the current key

    def load(self) -> KeyState:
        data = self._kept.value()
        if data is None:
            return KeyState()
        state, gone = unpack(data, self._matchers)
        if ONLY in gone:
            raise StateError(
                "PATTERN_CHANGED",
                "The checkpoint holds partial matches of another pattern than this program's. Resume with the pattern that "
                "wrote them, or give the operator another uid to start without them.",
            )
        return state

    def save(self, state: KeyState) -> None:
        """Writes the key's state, if there is any, and sets its next timer."""
        for pattern, (_, run) in list(state.runs.items()):
            if self._matchers[pattern][1].is_idle(run):
                del state.runs[pattern]
        if not state.queue and not state.runs:
            if state.timer is not None:
                self._timers.delete(state.timer, self._context.cell.at, None)
            if self._kept.value() is not None:
                self._kept.clear()
            return
        self._set_timer(state)
        self._kept.update(pack(state, self._codec.encode))

    def _set_timer(self, state: KeyState) -> None:
        wanted = min((event.timestamp for event in state.queue), default=None)
        if wanted is not None and not self.event_time:
            wanted += 1  # when no more events of that time can come
        if self._timed:
            for pattern, (_, run) in state.runs.items():
                deadline = self._matchers[pattern][1].deadline(run)
                if deadline is not None and (wanted is None or deadline < wanted):
                    wanted = deadline
        if wanted is not None and (state.timer is None or wanted < state.timer):
            state.timer = wanted
            context = self._context
            due = context.running_due if self.event_time else None
            self._timers.register(wanted, context.cell.at, None, due)

    def asked_about(self) -> Event | None:
        """The event that a condition is asked about; None: a function is called with a match."""
        return next((e for _, m in self._matchers.values() if (e := m.asked_about()) is not None), None)

    # -- matching

    def advance(self, state: KeyState, until: int, emit: Emit) -> None:
        """Shows the patterns all waiting events up to a time, with the ends of partial matches in between."""
        due = self._due(state, until)
        if not due and not (self._timed and state.runs):
            return
        number = state.number
        for event in due:
            event.number = number
            number += 1
        state.number = number
        runs = state.runs
        for pattern, (version, matcher) in self._matchers.items():
            known = runs.get(pattern)
            if known is None:
                if not due:
                    continue
                known = runs[pattern] = version, matcher.begin()
            matcher.now = self._context.now
            found = matcher.feed(known[1], self._seen_by(pattern, due), until)
            if found:
                self._emit(pattern, matcher, found, emit)

    def _seen_by(self, pattern: str, events: list[Event]) -> list[Event]:
        """The events that a pattern sees: all, where there is one from the start."""
        return events

    def _due(self, state: KeyState, until: int) -> list[Event]:
        """The waiting events up to a time, in order; they wait no longer."""
        due = state.queue
        if not due:
            return due
        state.queue = []
        for event in due:
            if event.value is UNREAD:
                event.value = self._codec.decode(event.data or b"")
        if len(due) > 1:
            if self._order is None:
                due.sort(key=_timestamp)
            else:
                order = self._order
                due.sort(key=lambda event: (event.timestamp, order(event.value)))
        if due[-1].timestamp > until:
            state.queue = [event for event in due if event.timestamp > until]
            due = due[: len(due) - len(state.queue)]
        return due

    def _emit(self, pattern: str, matcher: Matcher, found: list[Found], emit: Emit) -> None:
        context = self._match
        context.pattern = pattern or None
        on_match, on_timeout = self._function.process_match, self._on_timeout
        for taken, time, over in found:
            if over and on_timeout is None:
                continue
            context.time = time
            for result in (on_timeout if over else on_match)(matcher.events_of(taken), context) or ():
                emit(result, time)


def _of_several(automata: list[Automaton]) -> Callable[[Any], int]:
    """Of several patterns, each is asked again when the event is shown to it; here only whether none of them cares."""
    return lambda event: UNKNOWN if any(a.conditions_of(event) for a in automata) else 0


def _timestamp(event: Event) -> int:
    return event.timestamp
