"""Finds the matches of a list of variables as Flink does: with the automaton of patterns of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.errors import StateError
from penstock.patterns.condition import Condition
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.key_state import KeyState, decode_key_state, encode_key_state
from penstock.runtime.cep.matcher import Event, Matcher
from penstock.runtime.relational.matching.found_match import FoundMatch, found_match
from penstock.runtime.relational.matching.match_pattern import match_pattern
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.runtime.relational.state.row_codec import pack, unpack

_PATTERN = ""  # there is one pattern


class FlinkFinder:
    """Each greedy loop keeps the rows that it can take, and the shortest match of a first row counts."""

    def __init__(self, spec: MatchSpec, conditions: Mapping[str, Condition]) -> None:
        pattern = match_pattern(spec.pattern, spec.skip, spec.within, conditions)
        self._matcher = Matcher(compile_pattern(pattern), unpack)
        self._version = str(self._matcher.automaton.fingerprint)
        self._matchers = {_PATTERN: (self._version, self._matcher)}

    def decode(self, data: bytes | None) -> KeyState:
        """Returns the partial matches of a key."""
        state = KeyState()
        if data is not None:
            try:
                state, dropped = decode_key_state(data, self._matchers)
            except msgspec.DecodeError as error:  # those of a pattern of the other kind
                raise changed_pattern() from error
            if dropped:
                raise changed_pattern()
        if _PATTERN not in state.match_states:
            state.match_states[_PATTERN] = self._version, self._matcher.initial_state()
        return state

    def encode(self, state: KeyState) -> bytes | None:
        """Returns the partial matches of a key as bytes, or None if there are none."""
        if self._matcher.is_idle(state.match_states[_PATTERN][1]):
            return None
        return encode_key_state(state, _encode_row)

    def deadline(self, state: KeyState) -> int | None:
        """Returns when the first partial match times out."""
        return self._matcher.deadline(state.match_states[_PATTERN][1])

    def process(self, state: KeyState, event: Event | None, until: int) -> list[FoundMatch]:
        """Adds a row, and advances the time. Returns the matches that are certain now."""
        events: list[Event] = []
        if event is not None:
            event.number = state.next_number
            state.next_number += 1
            events.append(event)
        results = self._matcher.process_events(state.match_states[_PATTERN][1], events, until)
        return [found_match(link, time) for link, time, timed_out in results if not timed_out]


def changed_pattern() -> StateError:
    """Returns the error for state of another pattern."""
    return StateError(
        "PATTERN_CHANGED",
        "The state contains partial matches of a pattern that differs from the one of this query. Resume with the pattern that "
        "wrote them, or start without this state.",
    )


def _encode_row(row: Sequence[object]) -> bytes:
    return pack(row[:-1])  # without the bits of the conditions
