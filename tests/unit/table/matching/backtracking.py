"""MATCH_RECOGNIZE of the SQL standard as a plain search: all ways through a pattern are tried, the preferred ones first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Path = tuple[tuple[str, bool], ...]  # the variable of each row of a match, and whether {- -} excludes it


@dataclass(frozen=True)
class Part:
    """kind: variable, sequence, choice, permute, exclude or repeat."""

    kind: str
    name: str = ""
    parts: tuple[Part, ...] = ()
    minimum: int = 1
    maximum: int | None = 1
    reluctant: bool = False

    def __str__(self) -> str:
        inside = [f"({part})" if part.kind in ("sequence", "choice") else str(part) for part in self.parts]
        match self.kind:
            case "variable":
                return self.name
            case "sequence":
                return " ".join(inside)
            case "choice":
                return " | ".join(inside)
            case "permute":
                return f"PERMUTE({', '.join(inside)})"
            case "exclude":
                return f"{{- {inside[0]} -}}"
        one = inside[0] if self.parts[0].kind != "repeat" else f"({inside[0]})"
        most = "" if self.maximum is None else self.maximum
        return f"{one}{{{self.minimum},{most}}}{'?' if self.reluctant else ''}"

    def names(self) -> set[str]:
        return {self.name} if self.kind == "variable" else {n for part in self.parts for n in part.names()}


@dataclass
class Match:
    """start: the first row. number: None for a row that no match has."""

    start: int
    path: Path
    number: int | None

    def positions(self, names: str, last: int | None = None) -> list[int]:
        """The rows of variables ("" for all) up to the one at an index of the match."""
        shown = self.path if last is None else self.path[: last + 1]
        return [self.start + i for i, (name, _) in enumerate(shown) if not names or name in names]


Holds = Callable[[Sequence[Any], Match], bool | None]  # rows of the partition, and the match up to the row in question


@dataclass
class Search:
    """rows: of one partition, in order, with the time as the attribute `time`. skip: NEXT, PAST, or FIRST or LAST of variables."""

    pattern: Part
    conditions: dict[str, Holds]
    rows: Sequence[Any]
    skip: tuple[str, str] = ("PAST", "")
    within: int | None = None
    unmatched: bool = False
    _end: int = field(default=0)

    def run(self) -> list[Match] | None:
        """Returns all matches, or None if a match cannot skip."""
        found: list[Match] = []
        start = number = covered = 0
        while start < len(self.rows):
            self._end = len(self.rows)
            if self.within is not None:
                limit = self.rows[start].time + self.within
                self._end = next((i for i in range(start, self._end) if self.rows[i].time >= limit), self._end)
            path = next(self._ways(self.pattern, (), start, False), None)
            if path is None:
                if self.unmatched and start >= covered:
                    found.append(Match(start, (), None))
                start += 1
                continue
            number += 1
            match = Match(start, path, number)
            found.append(match)
            covered = max(covered, start + len(path))
            following = self._following(match)
            if following is None:
                return None
            start = following
        return found

    def _following(self, match: Match) -> int | None:
        kind, names = self.skip
        if kind == "NEXT" or not match.path:
            return match.start + 1
        if kind == "PAST":
            return match.start + len(match.path)
        places = match.positions(names)
        place = match.start if not places else places[0] if kind == "FIRST" else places[-1]
        return None if place == match.start else place

    def _ways(self, part: Part, path: Path, start: int, excluded: bool) -> Iterator[Path]:
        match part.kind:
            case "variable":
                longer = (*path, (part.name, excluded))
                if start + len(path) < self._end:
                    condition = self.conditions.get(part.name)
                    if condition is None or condition(self.rows, Match(start, longer, 0)) is True:
                        yield longer
            case "sequence":
                yield from self._sequence(part.parts, path, start, excluded)
            case "choice":
                for one in part.parts:
                    yield from self._ways(one, path, start, excluded)
            case "permute":
                for order in itertools.permutations(part.parts):
                    yield from self._sequence(order, path, start, excluded)
            case "exclude":
                yield from self._ways(part.parts[0], path, start, True)
            case "repeat":
                yield from self._repeat(part, 0, path, start, excluded)

    def _sequence(self, parts: Sequence[Part], path: Path, start: int, excluded: bool) -> Iterator[Path]:
        if not parts:
            yield path
            return
        for longer in self._ways(parts[0], path, start, excluded):
            yield from self._sequence(parts[1:], longer, start, excluded)

    def _repeat(self, part: Part, count: int, path: Path, start: int, excluded: bool) -> Iterator[Path]:
        enough = count >= part.minimum
        if enough and part.reluctant:
            yield path
        if part.maximum is None or count < part.maximum:
            for longer in self._ways(part.parts[0], path, start, excluded):
                if len(longer) > len(path) or not enough:  # an iteration that is not required takes a row
                    yield from self._repeat(part, count + 1, longer, start, excluded)
        if enough and not part.reluctant:
            yield path
