"""Patterns from a broadcast stream: input 0 has the events, input 1 the pattern updates.

Every slot keeps a copy of the patterns in broadcast state. A pattern sees the events that arrive after it. Partial matches of
a pattern that was removed or replaced are dropped when their key is processed again.
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
from penstock.runtime.failure import PatternError
from penstock.runtime.loop.operator import Emitted, OperatorContext
from penstock.state import MapStateDescriptor
from penstock.types import Types

_UPDATE_COUNT = ""  # the entry that counts updates; pattern ids are never empty


class DynamicPatternOperator(PatternOperator):
    """Matches the patterns that arrive on its second input."""

    broadcast_inputs = (1,)

    def __init__(self, pattern_of: Callable[[Any], Pattern[Any]] | None, function: Any, **settings: Any) -> None:
        super().__init__(None, function, **settings)
        self._pattern_of = pattern_of
        self._added_at: dict[str, int] = {}  # by pattern id: the number of updates when it was added
        self._updates = 0
        self._applied: list[Any] = []  # the patterns in use: id, update number, version
        self._combine_automata()

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        described = MapStateDescriptor("patterns", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
        self._rules = context.backend.handle(described, "slot")

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        self.begin_batch()
        return *super().elements(), self.apply_update

    def begin_batch(self) -> None:
        """Reads the patterns from state, because the last batch may have failed or run on another worker."""
        entries = [(i, rule) for i, rule in self._rules.items() if i != _UPDATE_COUNT]
        stored = sorted((i, added_at, version) for i, (added_at, version, _) in entries)
        if stored == self._applied:
            return
        rules = dict(entries)
        for removed in [i for i, added_at in self._added_at.items() if i not in rules or rules[i][0] != added_at]:
            self._remove_pattern(removed)
        for pattern_id, (added_at, _, rule) in rules.items():
            if pattern_id not in self._added_at:
                self._add_pattern(pattern_id, added_at, self._build_pattern(pattern_id, rule))
        self._applied = stored
        self._updates = (self._rules.get(_UPDATE_COUNT) or (0, None, None))[0]
        self._combine_automata()

    def apply_update(self, update: Any, context: OperatorContext) -> Emitted:
        """Adds, replaces or removes a pattern."""
        if not isinstance(update, PatternUpdate):
            raise ElementError(
                "PATTERN_UPDATE",
                f"The stream of patterns has an element of type {type(update).__name__}. Its elements must be "
                "PatternUpdate(pattern_id, pattern).",
            )
        known = self._rules.get(update.pattern_id)
        if known is not None and not update.is_newer(known[1]):
            return None
        pattern = None if update.pattern is None else self._build_pattern(update.pattern_id, update.pattern)
        updates = (self._rules.get(_UPDATE_COUNT) or (0, None, None))[0] + 1
        self._rules.put(_UPDATE_COUNT, (updates, None, None))
        if pattern is None:
            self._rules.remove(update.pattern_id)
        else:
            self._rules.put(update.pattern_id, (updates, update.version, update.pattern))
        self.begin_batch()
        return None

    def _build_pattern(self, pattern_id: str, rule: Any) -> Pattern[Any]:
        """Returns the pattern of a rule. Errors name the id of the pattern."""
        try:
            pattern: Pattern[Any] = rule if self._pattern_of is None else self._pattern_of(rule)
            check_pattern(pattern)
        except Exception as error:
            raise PatternError(pattern_id, error) from error
        return pattern

    def _add_pattern(self, pattern_id: str, added_at: int, pattern: Pattern[Any]) -> None:
        matcher = self._add_matcher(pattern_id, str(added_at), pattern)
        self._added_at[pattern_id] = added_at
        for function in matcher.automaton.functions:
            if isinstance(function, Function):
                function.open(self._context.runtime)

    def _remove_pattern(self, pattern_id: str) -> None:
        del self._added_at[pattern_id]
        _, matcher = self._matchers.pop(pattern_id)
        for function in matcher.automaton.functions:
            if isinstance(function, Function):
                function.close()

    def make_event(self, timestamp: int, value: Any, fulfilled: int) -> Event:  # type: ignore[override]
        event = Event(timestamp, value)  # the bits of `fulfilled` differ between patterns
        event.updates_before = self._updates
        return event

    def _visible_events(self, pattern: str, events: list[Event]) -> list[Event]:
        added_at = self._added_at[pattern]
        return [event for event in events if event.updates_before >= added_at]
