"""Patterns that come as a broadcast stream: input 0 has the events, input 1 the changes of patterns.

Every slot keeps a copy of the patterns as broadcast state. A pattern sees the events that come behind it. What was under way
for one that is gone, or has another one in its place, is dropped when its key is met again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import ElementError
from penstock.functions import Function
from penstock.patterns.check import check_pattern
from penstock.patterns.pattern import Pattern
from penstock.patterns.update import PatternUpdate
from penstock.runtime.cep.matcher import Event
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.state import MapStateDescriptor
from penstock.types import Types

_CHANGES = ""  # the entry that counts changes; ids of patterns are never empty


class DynamicPatternOperator(PatternOperator):
    """Matches the patterns that its second input tells of."""

    broadcast_inputs = (1,)
    keeps_output = True  # changes of patterns emit nothing

    def __init__(self, pattern_of: Callable[[Any], Pattern[Any]] | None, function: Any, **settings: Any) -> None:
        super().__init__(None, function, **settings)
        self._pattern_of = pattern_of
        self._since: dict[str, int] = {}  # by pattern: how many changes there were with it
        self._changes = 0
        self._told: list[Any] = []
        self._summarize()

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        described = MapStateDescriptor("patterns", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
        self._rules = context.backend.handle(described, "slot")

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        self.begin_batch()
        return *super().elements(), self.change

    def begin_batch(self) -> None:
        """Takes the patterns from the state: a batch before may have failed, or run elsewhere."""
        told = sorted((i, since, version) for i, (since, version, _) in self._rules.items() if i != _CHANGES)
        if told == self._told:
            return
        rules = {i: rule for i, rule in self._rules.items() if i != _CHANGES}
        for gone in [i for i, since in self._since.items() if i not in rules or rules[i][0] != since]:
            self._drop(gone)
        for pattern_id, (since, _, rule) in rules.items():
            if pattern_id not in self._since:
                self._add(pattern_id, since, self._made(pattern_id, rule))
        self._told = told
        self._changes = (self._rules.get(_CHANGES) or (0, None, None))[0]
        self._summarize()

    def change(self, update: Any, context: OperatorContext) -> Emitted:
        """Adds, replaces or removes a pattern."""
        if not isinstance(update, PatternUpdate):
            raise ElementError(
                "PATTERN_UPDATE",
                f"The stream of patterns has a {type(update).__name__}; it takes elements PatternUpdate(pattern_id, pattern).",
            )
        known = self._rules.get(update.pattern_id)
        if known is not None and not update.is_newer(known[1]):
            return None
        pattern = None if update.pattern is None else self._made(update.pattern_id, update.pattern)
        changes = (self._rules.get(_CHANGES) or (0, None, None))[0] + 1
        self._rules.put(_CHANGES, (changes, None, None))
        if pattern is None:
            self._rules.remove(update.pattern_id)
        else:
            self._rules.put(update.pattern_id, (changes, update.version, update.pattern))
        self.begin_batch()
        return None

    def _made(self, pattern_id: str, rule: Any) -> Pattern[Any]:
        """The pattern of a rule; what is wrong with it is told with its id."""
        try:
            pattern: Pattern[Any] = rule if self._pattern_of is None else self._pattern_of(rule)
            check_pattern(pattern)
        except Exception as error:
            error.penstock_pattern = pattern_id  # type: ignore[attr-defined]
            raise
        return pattern

    def _add(self, pattern_id: str, since: int, pattern: Pattern[Any]) -> None:
        matcher = self._take_pattern(pattern_id, str(since), pattern)
        self._since[pattern_id] = since
        for function in matcher.automaton.functions:
            if isinstance(function, Function):
                function.open(self._context.runtime)

    def _drop(self, pattern_id: str) -> None:
        del self._since[pattern_id]
        _, matcher = self._matchers.pop(pattern_id)
        for function in matcher.automaton.functions:
            if isinstance(function, Function):
                function.close()

    def event(self, timestamp: int, value: Any, fulfilled: int) -> Event:  # type: ignore[override]
        made = Event(timestamp, value)  # several patterns have several meanings of `fulfilled`
        made.came = self._changes
        return made

    def _seen_by(self, pattern: str, events: list[Event]) -> list[Event]:
        since = self._since[pattern]
        return [event for event in events if event.came >= since]
