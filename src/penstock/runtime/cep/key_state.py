"""All that patterns keep for one key, and its form in the store: one entry, written when it changed.

Events that wait for the watermark, and those that partial matches have taken, are kept as bytes; an event that was read
from the store is decoded when a match or a condition asks for it, and not written again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.runtime.cep.matcher import UNREAD, Event, Matcher, Partial, Run
from penstock.runtime.codec import PICKLED, Codec, codec_of
from penstock.types import TypeInformation

_encode = msgspec.msgpack.encode
_Stored = tuple[int, int | None, list[Any], list[Any], list[Any], list[tuple[str, str, list[int], list[int]]]]
_decode = msgspec.msgpack.Decoder(_Stored).decode


class KeyState:
    """The events of a key that wait, and its partial matches by pattern."""

    __slots__ = ("number", "queue", "runs", "timer")

    def __init__(self) -> None:
        self.number = 0  # of the next event
        self.timer: int | None = None  # the earliest timer that is set
        self.queue: list[Event] = []
        self.runs: dict[str, tuple[str, Run]] = {}  # by the pattern's id: its version, and what is under way


class EventCodec:
    """Events as bytes: by the stream's type where a value comes back equal, else pickled."""

    def __init__(self, type_info: TypeInformation | None) -> None:
        self._typed: Codec | None = None
        if type_info is not None and type_info.declared:
            codec = codec_of(type_info)
            self._typed = codec if codec.schema != "pickle" else None

    def encode(self, value: Any) -> bytes:
        typed = self._typed
        if typed is not None:
            try:
                data = typed.encode(value)
                again = typed.decode(data)
                if again.__class__ is value.__class__ and again == value:
                    return data
            except Exception:  # not of the type after all
                pass
        return PICKLED + pickle.dumps(value, 5)

    def decode(self, data: bytes) -> Any:
        if data[0] == 0 or self._typed is None:
            return pickle.loads(memoryview(data)[1:])
        return self._typed.decode(data)


def pack(state: KeyState, encode: Callable[[Any], bytes]) -> bytes:
    """The state's bytes."""
    events: list[Any] = []
    taken: list[Any] = []
    numbers: dict[int, int] = {}  # of events and of links, by their identity

    def number_of(event: Event) -> int:
        known = numbers.get(id(event))
        if known is None:
            if event.data is None:
                event.data = encode(event.value)
            known = numbers[id(event)] = len(events) // 3
            events.extend((event.number, event.timestamp, event.data))
        return known

    def link_of(link: Any) -> int:
        new = []
        while link is not None and id(link) not in numbers:
            new.append(link)
            link = link[2]
        at = -1 if link is None else numbers[id(link)]
        for link in reversed(new):
            taken.extend((number_of(link[0]), link[1], at))
            at = numbers[id(link)] = len(taken) // 3 - 1
        return at

    def flat(partials: list[Partial]) -> list[int]:
        found: list[int] = []
        for rank, at, link, started, continued in partials:
            found += (rank, at.number, link_of(link), started, continued)
        return found

    runs = [(i, version, flat(run.partials), flat(run.completed)) for i, (version, run) in state.runs.items()]
    queue: list[Any] = []
    for event in state.queue:
        if event.data is None:
            event.data = encode(event.value)
        queue += (event.timestamp, event.data)
    return _encode((state.number, state.timer, queue, events, taken, runs))


def unpack(data: bytes, matchers: Mapping[str, tuple[str, Matcher]]) -> tuple[KeyState, dict[str, str]]:
    """The state of some bytes; and the partial matches of patterns that are no more, as ids and versions: they are gone."""
    state = KeyState()
    state.number, state.timer, queue, events, taken, runs = _decode(data)
    state.queue = [Event(0, queue[i], UNREAD, queue[i + 1]) for i in range(0, len(queue), 2)]
    known = [Event(events[i], events[i + 1], UNREAD, events[i + 2]) for i in range(0, len(events), 3)]
    links: list[Any] = []
    for i in range(0, len(taken), 3):
        before = taken[i + 2]
        links.append((known[taken[i]], taken[i + 1], None if before < 0 else links[before]))
    gone: dict[str, str] = {}
    for pattern, version, partials, completed in runs:
        found = matchers.get(pattern)
        if found is None or found[0] != version:
            gone[pattern] = version
            continue
        states = found[1].automaton.states
        state.runs[pattern] = version, Run(*(_partials(flat, states, links) for flat in (partials, completed)))
    return state, gone


def _partials(flat: list[int], states: list[Any], links: list[Any]) -> list[Partial]:
    found = []
    for i in range(0, len(flat), 5):
        link = flat[i + 2]
        found.append(Partial(flat[i], states[flat[i + 1]], None if link < 0 else links[link], flat[i + 3], flat[i + 4]))
    return found
