"""Compares the outputs of two versions of a job: rows that only one has, and keys with different values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.errors import StateError

_EXAMPLES = 20  # number of rows that are recorded as examples


class Difference(msgspec.Struct):
    """The output of one version for a sink, compared with the first version."""

    sink: str
    version: str
    rows: int
    rows_of_first: int
    same: int
    only_here: int
    only_in_first: int
    keys_differ: int | None = None  # None: no key was given
    examples_here: list[str] = []
    examples_of_first: list[str] = []
    examples_of_keys: list[list[str]] = []  # key, row of the first, row of this one

    @property
    def equal(self) -> bool:
        return not (self.only_here or self.only_in_first)


def read_lines(folder: str | Path) -> Iterator[bytes]:
    """Yields the lines of all visible files in the folder of a sink."""
    for file in sorted(Path(folder).rglob("*.jsonl")):
        if any(part.startswith(".") for part in file.relative_to(folder).parts):
            continue
        with file.open("rb") as lines:
            for line in lines:
                yield line.rstrip(b"\n")


def compare_outputs(sink: str, version: str, first: Path, other: Path, key: str | None = None) -> Difference:
    """Compares what two versions wrote to a sink. The order of rows is ignored, but duplicates count.

    With `key`, the name or index of a field, different rows are paired by it. Of several rows with the same key, the last counts.
    """
    rows_first, rows_other = Counter(read_lines(first)), Counter(read_lines(other))
    only_first, only_other = rows_first - rows_other, rows_other - rows_first
    difference = Difference(
        sink,
        version,
        rows=rows_other.total(),
        rows_of_first=rows_first.total(),
        same=(rows_first & rows_other).total(),
        only_here=only_other.total(),
        only_in_first=only_first.total(),
        examples_here=_examples(only_other),
        examples_of_first=_examples(only_first),
    )
    if key is not None:
        before, after = _by_key(only_first, key, sink), _by_key(only_other, key, sink)
        both = sorted(before.keys() & after.keys())
        difference.keys_differ = len(both)
        difference.examples_of_keys = [[k, before[k].decode(), after[k].decode()] for k in both[:_EXAMPLES]]
    return difference


def _examples(rows: Counter[bytes]) -> list[str]:
    return [line.decode() for line in sorted(rows)[:_EXAMPLES]]


def _by_key(rows: Counter[bytes], key: str, sink: str) -> dict[str, bytes]:
    by_key: dict[str, bytes] = {}
    for line in rows:
        by_key[msgspec.json.encode(_field(msgspec.json.decode(line), key, sink)).decode()] = line
    return by_key


def _field(row: Any, key: str, sink: str) -> Any:
    """A field of a row by its name or index. Dots select nested fields."""
    for part in key.split("."):
        try:
            row = row[int(part)] if isinstance(row, list) else row[part]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise StateError(
                "FORK_KEY",
                f"A row of sink '{sink}' has no field '{part}': {msgspec.json.encode(row).decode()[:200]}. Set --key to the "
                "name of a field, or to its index (from 0) if rows are lists.",
            ) from error
    return row
