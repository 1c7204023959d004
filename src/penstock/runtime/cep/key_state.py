"""The state of all patterns for one key, and its stored form: one entry, written when it has changed.

Events that wait for the watermark and events of partial matches are stored as bytes. An event that was read from state is
decoded when a match or a condition needs it, and is not encoded again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.runtime.cep.automaton import NOT_EVALUATED
from penstock.runtime.cep.matcher import NOT_DECODED, Event, Matcher, MatchState, PartialMatch
from penstock.runtime.pickling import dumps
from penstock.runtime.state.codec import CHECKED, PICKLED
from penstock.runtime.state.evolution.describe import describe
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.plain_values import plain_form
from penstock.runtime.state.stored_changes import is_unchanged
from penstock.types import TypeInformation, Types

_encode = msgspec.msgpack.encode
_Stored = tuple[int, int | None, list[Any], list[Any], list[Any], list[tuple[str, str, list[int]]]]
_decode = msgspec.msgpack.Decoder(_Stored).decode


class KeyState:
    """The waiting events of a key, and its partial matches by pattern."""

    __slots__ = ("match_states", "next_number", "queue", "timer")

    def __init__(self) -> None:
        self.next_number = 0  # the number of the next event
        self.timer: int | None = None  # the earliest registered timer
        self.queue: list[Event] = []
        self.match_states: dict[str, tuple[str, MatchState]] = {}  # by pattern id: version and partial matches

    def pop_due_events(
        self, until: int, decode: Callable[[bytes], Any], order: Callable[[Any], Any] | None
    ) -> list[Event]:
        """Removes the waiting events up to a time from the queue and returns them in order. `order` decides between equal times."""
        due = self.queue
        if not due:
            return due
        self.queue = []
        for event in due:
            if event.value is NOT_DECODED:
                event.value = decode(event.data or b"")
        if len(due) > 1:
            if order is None:
                due.sort(key=_timestamp)
            else:
                due.sort(key=lambda event: (event.timestamp, order(event.value)))
        if due[-1].timestamp > until:
            self.queue = [event for event in due if event.timestamp > until]
            due = due[: len(due) - len(self.queue)]
        return due


def _timestamp(event: Event) -> int:
    return event.timestamp


class EventCodec:
    """Encodes events with the type of the stream if that restores an equal value, else as pickles."""

    def __init__(self, type_info: TypeInformation | None) -> None:
        self._type = type_info
        plain = None if type_info is None or not type_info.declared else plain_form(type_info)
        self._plain = plain if plain is not None and plain.pack is None and plain.unpack is None else None
        self._to = msgspec.msgpack.Encoder(decimal_format="string").encode
        self._from = None if self._plain is None else msgspec.msgpack.Decoder(self._plain.kind).decode

    def shape(self) -> Shape:
        """Returns the description of the stored events for a savepoint."""
        stored = Types.PICKLED_BYTE_ARRAY() if self._plain is None or self._type is None else self._type
        return Shape("patterns", of=[describe(stored)])

    def encode(self, value: Any) -> bytes:
        decode = self._from
        if decode is not None:
            try:
                data = self._to(value)
                if is_unchanged(value, decode(data)):
                    return CHECKED + data
            except Exception:  # the value is not of the declared type
                pass
        return PICKLED + dumps(value)

    def decode(self, data: bytes) -> Any:
        if data[0] == 0 or self._from is None:
            return pickle.loads(memoryview(data)[1:])
        return self._from(data[1:])


def encode_key_state(state: KeyState, encode: Callable[[Any], bytes]) -> bytes:
    """Encodes the state of a key. Events and the links between them are stored once, partial matches as integers."""
    events: list[Any] = []
    links: list[Any] = []
    event_indices: dict[int, int] = {}  # by event number
    link_indices: dict[int, int] = {}  # by id() of the link
    match_states = []
    for pattern, (version, match_state) in state.match_states.items():
        flat: list[int] = []
        for partials in (match_state.partials, match_state.completed):
            flat.append(len(partials))
            for rank, automaton_state, link, started, continued in partials:
                new = []
                while link is not None and id(link) not in link_indices:
                    new.append(link)
                    link = link[2]
                previous = -1 if link is None else link_indices[id(link)]
                for link in reversed(new):
                    event = link[0]
                    index = event_indices.get(event.number)
                    if index is None:
                        index = event_indices[event.number] = len(event_indices)
                        if event.data is None:
                            event.data = encode(event.value)
                        events += (event.number, event.timestamp, event.data)
                    links += (index, link[1], previous)
                    previous = link_indices[id(link)] = len(link_indices)
                flat += (rank, automaton_state, previous, started, continued)
        match_states.append((pattern, version, flat))
    queue: list[Any] = []
    for event in state.queue:
        if event.data is None:
            event.data = encode(event.value)
        queue += (event.timestamp, event.data, event.updates_before)
    return _encode((state.next_number, state.timer, queue, events, links, match_states))


def decode_key_state(data: bytes, matchers: Mapping[str, tuple[str, Matcher]]) -> tuple[KeyState, dict[str, str]]:
    """Decodes the state of a key. Also returns the patterns (id and version) whose partial matches no longer apply."""
    state = KeyState()
    state.next_number, state.timer, queue, stored_events, stored_links, match_states = _decode(data)
    for i in range(0, len(queue), 3):
        event = Event(queue[i], NOT_DECODED, NOT_EVALUATED, queue[i + 1])
        event.updates_before = queue[i + 2]
        state.queue.append(event)
    events = []
    for i in range(0, len(stored_events), 3):
        event = Event(stored_events[i + 1], NOT_DECODED, NOT_EVALUATED, stored_events[i + 2])
        event.number = stored_events[i]
        events.append(event)
    links: list[Any] = []
    for i in range(0, len(stored_links), 3):
        previous = stored_links[i + 2]
        links.append((events[stored_links[i]], stored_links[i + 1], None if previous < 0 else links[previous]))
    dropped: dict[str, str] = {}
    for pattern, version, flat in match_states:
        matcher = matchers.get(pattern)
        if matcher is None or matcher[0] != version:
            dropped[pattern] = version
            continue
        end = 1 + 5 * flat[0]
        partials, completed = _decode_partials(flat[1:end], links), _decode_partials(flat[end + 1 :], links)
        state.match_states[pattern] = version, MatchState(partials, completed)
    return state, dropped


def _decode_partials(flat: list[int], links: list[Any]) -> list[PartialMatch]:
    return [
        (flat[i], flat[i + 1], None if flat[i + 2] < 0 else links[flat[i + 2]], flat[i + 3], flat[i + 4])
        for i in range(0, len(flat), 5)
    ]
