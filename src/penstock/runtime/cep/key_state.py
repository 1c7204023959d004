"""All that patterns keep for one key, and its form in the store: one entry, written when it changed.

Events that wait for the watermark, and those that partial matches have taken, are kept as bytes; an event that was read
from the store is decoded when a match or a condition asks for it, and not written again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.runtime.cep.automaton import UNKNOWN
from penstock.runtime.cep.matcher import UNREAD, Event, Matcher, Partial, Run
from penstock.runtime.codec import CHECKED, PICKLED
from penstock.runtime.evolution.describe import describe
from penstock.runtime.evolution.shape import Shape
from penstock.runtime.plain import plain_of
from penstock.types import TypeInformation, Types

_encode = msgspec.msgpack.encode
_Stored = tuple[int, int | None, list[Any], list[Any], list[Any], list[tuple[str, str, list[int]]]]
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
        self._type = type_info
        plain = None if type_info is None or not type_info.declared else plain_of(type_info)
        self._plain = plain if plain is not None and plain.pack is None and plain.unpack is None else None
        self._to = msgspec.msgpack.Encoder(decimal_format="string").encode
        self._from = None if self._plain is None else msgspec.msgpack.Decoder(self._plain.kind).decode

    def shape(self) -> Shape:
        """What is kept of the stream's type, for a savepoint."""
        known = Types.PICKLED_BYTE_ARRAY() if self._plain is None or self._type is None else self._type
        return Shape("patterns", of=[describe(known)])

    def encode(self, value: Any) -> bytes:
        read = self._from
        if read is not None:
            try:
                data = self._to(value)
                again = read(data)
                if again.__class__ is value.__class__ and again == value:
                    return CHECKED + data
            except Exception:  # not of the type after all
                pass
        return PICKLED + pickle.dumps(value, 5)

    def decode(self, data: bytes) -> Any:
        if data[0] == 0 or self._from is None:
            return pickle.loads(memoryview(data)[1:])
        return self._from(data[1:])


def pack(state: KeyState, encode: Callable[[Any], bytes]) -> bytes:
    """The state's bytes: events and the links between them once each, partial matches as numbers."""
    events: list[Any] = []
    links: list[Any] = []
    of_event: dict[int, int] = {}  # by its number
    of_link: dict[int, int] = {}  # by its identity
    runs = []
    for pattern, (version, run) in state.runs.items():
        flat: list[int] = []
        for partials in (run.partials, run.completed):
            flat.append(len(partials))
            for rank, at, link, started, continued in partials:
                new = []
                while link is not None and id(link) not in of_link:
                    new.append(link)
                    link = link[2]
                before = -1 if link is None else of_link[id(link)]
                for link in reversed(new):
                    event = link[0]
                    number = of_event.get(event.number)
                    if number is None:
                        number = of_event[event.number] = len(of_event)
                        if event.data is None:
                            event.data = encode(event.value)
                        events += (event.number, event.timestamp, event.data)
                    links += (number, link[1], before)
                    before = of_link[id(link)] = len(of_link)
                flat += (rank, at, before, started, continued)
        runs.append((pattern, version, flat))
    queue: list[Any] = []
    for event in state.queue:
        if event.data is None:
            event.data = encode(event.value)
        queue += (event.timestamp, event.data, event.came)
    return _encode((state.number, state.timer, queue, events, links, runs))


def unpack(data: bytes, matchers: Mapping[str, tuple[str, Matcher]]) -> tuple[KeyState, dict[str, str]]:
    """The state of some bytes; and the partial matches of patterns that are no more, as ids and versions: they are gone."""
    state = KeyState()
    state.number, state.timer, queue, events, links, runs = _decode(data)
    for i in range(0, len(queue), 3):
        event = Event(queue[i], UNREAD, UNKNOWN, queue[i + 1])
        event.came = queue[i + 2]
        state.queue.append(event)
    known = []
    for i in range(0, len(events), 3):
        event = Event(events[i + 1], UNREAD, UNKNOWN, events[i + 2])
        event.number = events[i]
        known.append(event)
    taken: list[Any] = []
    for i in range(0, len(links), 3):
        before = links[i + 2]
        taken.append((known[links[i]], links[i + 1], None if before < 0 else taken[before]))
    gone: dict[str, str] = {}
    for pattern, version, flat in runs:
        found = matchers.get(pattern)
        if found is None or found[0] != version:
            gone[pattern] = version
            continue
        end = 1 + 5 * flat[0]
        state.runs[pattern] = version, Run(_partials(flat[1:end], taken), _partials(flat[end + 1 :], taken))
    return state, gone


def _partials(flat: list[int], taken: list[Any]) -> list[Partial]:
    return [
        (flat[i], flat[i + 1], None if flat[i + 2] < 0 else taken[flat[i + 2]], flat[i + 3], flat[i + 4])
        for i in range(0, len(flat), 5)
    ]
