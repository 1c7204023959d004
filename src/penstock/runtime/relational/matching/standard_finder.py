"""Finds the matches of a pattern as the SQL standard defines them: of those with the same first row, the preferred one counts.

One attempt runs at a time. It starts at the first row that no match has used, and follows all ways through the pattern at once, in
the order of preference, so that it reads each row once. It is decided when no way is left that is preferred to the match that was
found last. Then the next attempt reads the rows behind the first one again, which are kept until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import UserFunctionError
from penstock.patterns.condition import Condition, Holds
from penstock.runtime.cep.matcher import Event
from penstock.runtime.failure import PatternError
from penstock.runtime.relational.matching.flink_finder import changed_pattern
from penstock.runtime.relational.matching.found_match import FoundMatch, found_match, row_of, subset_members
from penstock.runtime.relational.matching.preference_automaton import END, compile_tree
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.time import MAX_WATERMARK

_EMPTY: Any = ()  # a match without rows
Link = tuple[Event, str, Any, int]  # a row, its variable, the link to the row before it (or None), and its place
Way = tuple[int, Any]  # the place that may take the next row, and the link of the last row (or None)
_MOST_WAYS = 100_000  # of one key, so that memory is bounded
_Stored = tuple[str, int | None, int, int, list[Any], list[int], list[int], int]


class Attempt:
    """The attempt of one key. rows: from its first row on. read: how many of them it has read. ways: the preferred ones first.

    match: the link of the best match until now, `_EMPTY`, or None. matched: how many of the first rows an earlier match has.
    """

    __slots__ = ("match", "matched", "read", "rows", "started", "timer", "ways")

    def __init__(self) -> None:
        self.rows: list[Event] = []
        self.read = 0
        self.matched = 0
        self.ways: list[Way] = []
        self.match: Any = None
        self.started = False
        self.timer: int | None = None


class StandardFinder:
    """Without WITHIN, an attempt that is not decided at the end of the input ends there."""

    def __init__(self, spec: MatchSpec, conditions: Mapping[str, Condition]) -> None:
        assert spec.tree is not None
        self._automaton = compile_tree(spec.tree)
        self._within = spec.within
        self._skip = spec.skip
        self._unmatched = spec.all_rows is not None and spec.all_rows.unmatched
        self._members = subset_members(spec.subsets)
        self._version = f"tree {self._automaton.fingerprint()} {spec.within}"
        self._link: Any = None  # of the way for which a condition is evaluated
        holds = {name: c for name, c in conditions.items() if isinstance(c, Holds)}
        self._conditions = [holds.get(place.variable) for place in self._automaton.places]
        reads_match = [c is not None and c.iterative for c in self._conditions]
        # Two ways to the same place have the same future, unless a later condition reads the rows of the match.
        self._same_future = [
            not any(reads_match[p] for p in self._automaton.reachable(place)) for place in range(len(reads_match))
        ]

    # -- state

    def decode(self, data: bytes | None) -> Attempt:
        """Returns the attempt of a key."""
        attempt = Attempt()
        if data is None:
            return attempt
        try:
            stored = msgspec.msgpack.decode(data, type=_Stored)
        except msgspec.DecodeError as error:  # a pattern of the other kind
            raise changed_pattern() from error
        version, attempt.timer, attempt.read, attempt.matched, rows, links, ways, match = stored
        if version != self._version:
            raise changed_pattern()
        attempt.started = True
        for time, bits, row in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
            attempt.rows.append(Event(time, [*unpack(row), bits], bits, row))
        made: list[Any] = []
        for row, place, before in zip(links[::3], links[1::3], links[2::3], strict=True):
            link = None if before < 0 else made[before]
            made.append((attempt.rows[row], self._automaton.places[place].variable, link, place))
        attempt.ways = [
            (place, None if link < 0 else made[link]) for place, link in zip(ways[::2], ways[1::2], strict=True)
        ]
        attempt.match = None if match == -2 else _EMPTY if match == -1 else made[match]
        return attempt

    def encode(self, attempt: Attempt) -> bytes | None:
        """Returns the attempt of a key as bytes, or None if it has none."""
        if not attempt.rows:
            return None
        rows: list[Any] = []
        for event in attempt.rows:
            if event.data is None:
                event.data = pack(event.value[:-1])
            rows += (event.timestamp, event.fulfilled, event.data)
        places = {id(event): i for i, event in enumerate(attempt.rows)}
        links: list[int] = []
        numbers: dict[int, int] = {}  # of links, by id
        ways = [part for place, link in attempt.ways for part in (place, _store(link, places, links, numbers))]
        match = attempt.match
        best = -2 if match is None else -1 if match is _EMPTY else _store(match, places, links, numbers)
        counts = attempt.read, attempt.matched
        return msgspec.msgpack.encode((self._version, attempt.timer, *counts, rows, links, ways, best))

    def deadline(self, attempt: Attempt) -> int | None:
        """Returns when the attempt ends at the latest."""
        if not attempt.rows:
            return None
        return MAX_WATERMARK if self._within is None else attempt.rows[0].timestamp + self._within

    # -- rows

    def process(self, attempt: Attempt, event: Event | None, until: int) -> list[FoundMatch]:
        """Adds a row, and advances the time. Returns the matches that are certain now."""
        found: list[FoundMatch] = []
        limit = until if event is None else event.timestamp
        while attempt.rows:
            end = self._end(attempt, limit)
            if end is None:
                break
            attempt.ways = []
            self._advance(attempt, end, found)
        if event is not None:
            attempt.rows.append(event)
            self._advance(attempt, event.timestamp, found)
        return found

    def _end(self, attempt: Attempt, limit: int) -> int | None:
        """Returns when the attempt ended, if that was until a time."""
        if self._within is not None:
            end = attempt.rows[0].timestamp + self._within
            return end if end <= limit else None
        return attempt.rows[-1].timestamp if limit >= MAX_WATERMARK else None

    def _advance(self, attempt: Attempt, time: int, found: list[FoundMatch]) -> None:
        while attempt.rows:
            if not attempt.started:
                attempt.started, attempt.read, attempt.match = True, 0, None
                attempt.ways = [(place, None) for place in self._automaton.start if place != END]
                if self._automaton.start[-1] == END:
                    attempt.match = _EMPTY
            while attempt.ways and attempt.read < len(attempt.rows):
                attempt.ways = self._read(attempt, attempt.rows[attempt.read])
                attempt.read += 1
            if attempt.ways:
                return
            used = 1
            if attempt.match is not None:
                match = self._found(attempt, time)
                found.append(match)
                used = self._skipped(match)
                attempt.matched = max(attempt.matched, len(match.rows))
            elif self._unmatched and not attempt.matched:
                found.append(FoundMatch(time, [], [], at=row_of(attempt.rows[0]), unmatched=True))
            del attempt.rows[:used]
            attempt.matched = max(0, attempt.matched - used)
            attempt.started = False

    def _read(self, attempt: Attempt, event: Event) -> list[Way]:
        """Returns the ways behind a row. A way that ends the pattern ends all ways that it is preferred to."""
        ways: list[Way] = []
        seen: set[int] = set()
        places, same_future = self._automaton.places, self._same_future
        for number, link in attempt.ways:
            if not self._takes(number, event, link):
                continue
            place = places[number]
            new: Link = (event, place.variable, link, number)
            for following in place.following:
                if following == END:
                    attempt.match = new
                    return ways
                if same_future[following]:
                    if following in seen:
                        continue
                    seen.add(following)
                ways.append((following, new))
        if len(ways) > _MOST_WAYS:
            raise UserFunctionError(
                "PATTERN_TOO_MANY_WAYS",
                f"{attempt.read + 1} rows can be matched in more than {_MOST_WAYS} ways: several variables take the same row, and "
                "conditions of DEFINE read the rows of the match. Make the conditions exclude each other, use PREV, or add WITHIN.",
            )
        return ways

    def _takes(self, place: int, event: Event, link: Any) -> bool:
        condition = self._conditions[place]
        if condition is None:
            return True
        try:
            if not condition.iterative:
                return bool(condition.function(event.value))
            self._link = link
            return bool(condition.function(event.value, self))
        except Exception as error:
            raise PatternError(self._automaton.places[place].variable, error) from error

    def accepted_events(self) -> Any:
        """Returns the rows of the way for which conditions are evaluated: links from the last row, or None."""
        return self._link

    # -- matches

    def _found(self, attempt: Attempt, time: int) -> FoundMatch:
        if attempt.match is _EMPTY:
            return FoundMatch(time, [], [], at=row_of(attempt.rows[0]))
        match, link, excluded = found_match(attempt.match, time), attempt.match, []
        for position in range(len(match.rows) - 1, -1, -1):
            if self._automaton.places[link[3]].excluded:
                excluded.append(position)
            link = link[2]
        match.excluded = frozenset(excluded)
        return match

    def _skipped(self, match: FoundMatch) -> int:
        """Returns how many rows the next attempt skips."""
        skip = self._skip
        if skip.kind == "NEXT ROW" or not match.rows:
            return 1
        if skip.kind == "PAST LAST ROW":
            return len(match.rows)
        positions = match.positions(skip.variable, self._members)
        position = 0 if not positions else positions[0 if skip.kind == "FIRST" else -1]
        if position == 0:
            raise UserFunctionError("PATTERN_SKIP_MISSED", "The match has no row to skip to.")
        return position


def _store(link: Any, places: Mapping[int, int], links: list[int], numbers: dict[int, int]) -> int:
    """Adds a link and those before it, unless they are there. Returns its number, or -1 without a link."""
    new = []
    while link is not None and id(link) not in numbers:
        new.append(link)
        link = link[2]
    before = -1 if link is None else numbers[id(link)]
    for one in reversed(new):
        links += (places[id(one[0])], one[3], before)
        before = numbers[id(one)] = len(numbers)
    return before
