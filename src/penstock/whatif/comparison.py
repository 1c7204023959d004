"""What versions of a job wrote, side by side: rows that only one has, and keys with different values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.errors import StateError

_SHOWN = 20  # rows that are kept as examples


class Difference(msgspec.Struct):
    """What a sink got from one version, beside the first one."""

    sink: str
    version: str
    rows: int
    rows_of_first: int
    same: int
    only_here: int
    only_in_first: int
    keys_differ: int | None = None  # None: no key was named
    examples_here: list[str] = []
    examples_of_first: list[str] = []
    examples_of_keys: list[list[str]] = []  # key, row of the first, row of this one

    @property
    def equal(self) -> bool:
        return not (self.only_here or self.only_in_first)


def lines_of(folder: str | Path) -> Iterator[bytes]:
    """The lines of all visible files of a sink's folder."""
    for file in sorted(Path(folder).rglob("*.jsonl")):
        if any(part.startswith(".") for part in file.relative_to(folder).parts):
            continue
        with file.open("rb") as lines:
            for line in lines:
                yield line.rstrip(b"\n")


def compared(sink: str, version: str, first: Path, other: Path, key: str | None = None) -> Difference:
    """Compares what two versions wrote to a sink; order does not count, repetition does.

    With `key` (a field's name, or its number) rows that differ are paired by it: the last row of a key counts.
    """
    ours, theirs = Counter(lines_of(first)), Counter(lines_of(other))
    only_first, only_other = ours - theirs, theirs - ours
    found = Difference(
        sink,
        version,
        rows=theirs.total(),
        rows_of_first=ours.total(),
        same=(ours & theirs).total(),
        only_here=only_other.total(),
        only_in_first=only_first.total(),
        examples_here=_examples(only_other),
        examples_of_first=_examples(only_first),
    )
    if key is not None:
        before, after = _by_key(only_first, key, sink), _by_key(only_other, key, sink)
        both = sorted(before.keys() & after.keys())
        found.keys_differ = len(both)
        found.examples_of_keys = [[k, before[k].decode(), after[k].decode()] for k in both[:_SHOWN]]
    return found


def _examples(rows: Counter[bytes]) -> list[str]:
    return [line.decode() for line in sorted(rows)[:_SHOWN]]


def _by_key(rows: Counter[bytes], key: str, sink: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for line in rows:
        found[msgspec.json.encode(_field(msgspec.json.decode(line), key, sink)).decode()] = line
    return found


def _field(row: Any, key: str, sink: str) -> Any:
    """A field of a row, by its name or its number; fields of fields by dots."""
    for part in key.split("."):
        try:
            row = row[int(part)] if isinstance(row, list) else row[part]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise StateError(
                "FORK_KEY",
                f"A row of sink '{sink}' has no field '{part}': {msgspec.json.encode(row).decode()[:200]}. Give --key the name of "
                "a field, or its number (from 0) where rows are lists.",
            ) from error
    return row
