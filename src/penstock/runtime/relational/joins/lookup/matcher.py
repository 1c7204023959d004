"""Finds the rows of a lookup table that match the rows of a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.compiler import Condition, Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.joins.lookup.cache import LookupCache
from penstock.runtime.relational.joins.lookup.settings import CacheSettings, RetrySettings
from penstock.runtime.relational.joins.lookup.table import Found, LookupTable
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.specs.lookup import LookupSpec
from penstock.types.logical.arrow import arrow_type

Positions = NDArray[np.int64]


class Pairs(NamedTuple):
    """Pairs of rows as positions, ordered by the row of the left side, and the columns of the right side."""

    left_at: Positions
    right_at: Positions
    right: list[pa.Array]


class LookupMatcher:
    """Looks up the distinct keys of a batch in one request, except those that the cache has, and evaluates conditions."""

    def __init__(
        self,
        spec: LookupSpec,
        table: LookupTable,
        cache: CacheSettings | None = None,
        retry: RetrySettings | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        session = Session(zone=spec.zone)
        self._spec = spec
        self._table = table
        self._cache = None if cache is None else LookupCache(cache)
        self._retry = retry or RetrySettings()
        self._sleep = sleep
        self._keys = Projection(list(spec.left_keys), session)
        self._columns = Projection(list(spec.right_columns), session)
        self._filter = None if spec.right_condition is None else Condition(spec.right_condition, session)
        self._condition = None if spec.condition is None else Condition(spec.condition, session)

    def pairs(self, rows: Changes) -> Pairs:
        """Returns the pairs of rows that match."""
        keys = self._keys(rows.columns, rows.length)
        groups = group_rows(keys, rows.length)
        distinct = [key.take(pa.array(groups.first)) for key in keys]
        usable = np.ones(len(groups), bool)
        for key in distinct:
            if key.null_count:  # NULL equals nothing
                usable &= key.is_valid().to_numpy(zero_copy_only=False)
        asked = np.flatnonzero(usable)
        found = self._selected(self._found([key.take(pa.array(asked)) for key in distinct]))
        counts = np.zeros(len(groups), np.int64)
        counts[asked] = np.bincount(found.owners, minlength=len(asked))
        starts = np.zeros(len(groups), np.int64)
        starts[asked] = np.cumsum(counts[asked]) - counts[asked]
        matches = counts[groups.codes]
        left_at = np.repeat(np.arange(rows.length), matches)
        offsets = np.arange(len(left_at)) - np.repeat(np.cumsum(matches) - matches, matches)
        right_at = np.repeat(starts[groups.codes], matches) + offsets
        right = self._columns(found.columns, len(found.owners))
        if self._condition is not None and len(left_at):
            first, second = pa.array(left_at), pa.array(right_at)
            columns = [*(c.take(first) for c in rows.columns), *(c.take(second) for c in right)]
            holds = _positions(self._condition(columns, len(left_at)))
            left_at, right_at = left_at[holds], right_at[holds]
        return Pairs(left_at, right_at, right)

    def close(self) -> None:
        """Ends connections."""
        self._table.close()

    def _selected(self, found: Found) -> Found:
        if self._filter is None or not len(found.owners):
            return found
        return found.take(_positions(self._filter(found.columns, len(found.owners))))

    def _found(self, keys: list[pa.Array]) -> Found:
        count = len(keys[0])
        if not count:
            return self._nothing()
        if self._cache is None:
            return self._asked(keys)
        encoded = encode_keys(keys, self._spec.key_types, count)
        missing, cached = self._cache.find(encoded)
        if not missing:
            return self._nothing() if cached is None else cached
        at = np.array(missing, np.int64)
        fresh = self._asked([key.take(pa.array(at)) for key in keys])
        self._cache.store([encoded[i] for i in missing], fresh)
        return _merged([Found(fresh.columns, at[fresh.owners]), *([] if cached is None else [cached])])

    def _asked(self, keys: list[pa.Array]) -> Found:
        """Asks the table, and again for keys without rows if the hint says so."""
        last, at = self._table.find(keys), np.arange(len(keys[0]))
        parts = [last]
        for _ in range(self._retry.attempts):
            missing = np.setdiff1d(np.arange(len(at)), last.owners)
            if not len(missing):
                break
            self._sleep(self._retry.delay / 1000)
            at = at[missing]
            last = self._table.find([key.take(pa.array(at)) for key in keys])
            parts.append(Found(last.columns, at[last.owners]))
        return _merged(parts)

    def _nothing(self) -> Found:
        return Found([pa.array([], arrow_type(t)) for t in self._spec.read_types], np.zeros(0, np.int64))


def _merged(parts: Sequence[Found]) -> Found:
    """Joins answers for different keys, ordered by the positions of the keys."""
    if len(parts) == 1:
        return parts[0]
    columns = [pa.concat_arrays([part.columns[i] for part in parts]) for i in range(len(parts[0].columns))]
    owners = np.concatenate([part.owners for part in parts])
    return Found(columns, owners).take(np.argsort(owners, kind="stable"))


def _positions(keep: pa.Array) -> Positions:
    return pc.indices_nonzero(keep).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
