"""The cache of lookups, compared with a dict."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.joins.lookup.cache import LookupCache
from penstock.runtime.relational.joins.lookup.settings import CacheSettings
from penstock.runtime.relational.joins.lookup.table import Found


def found_of(rows: list[list[str]]) -> Found:
    owners = [i for i, values in enumerate(rows) for _ in values]
    values = [value for one in rows for value in one]
    return Found([pa.array(values, pa.string())], np.array(owners, np.int64))


def read(cache: LookupCache, keys: list[bytes]) -> tuple[list[int], dict[int, list[str]]]:
    missing, found = cache.find(keys)
    rows: dict[int, list[str]] = {}
    if found is not None:
        assert found.owners.tolist() == sorted(found.owners.tolist())
        for owner, value in zip(found.owners.tolist(), found.columns[0].to_pylist(), strict=True):
            rows.setdefault(owner, []).append(value)
    return missing, rows


@given(
    st.lists(st.dictionaries(st.integers(0, 20), st.lists(st.text(max_size=2), max_size=3), max_size=6), max_size=12),
    st.sampled_from([None, 5]),
)
def test_it_returns_what_was_stored_last(stores: list[dict[int, list[str]]], most: int | None) -> None:
    cache = LookupCache(CacheSettings(max_rows=most))
    model: dict[int, list[str]] = {}
    for store in stores:
        cache.store([b"%d" % k for k in store], found_of(list(store.values())))
        for key, values in store.items():
            model.pop(key, None)
            model[key] = values
        while most is not None and len(model) > most:
            del model[next(iter(model))]
        assert len(cache) == len(model)
    missing, rows = read(cache, [b"%d" % k for k in range(21)])
    assert missing == [k for k in range(21) if k not in model]
    assert rows == {k: v for k, v in model.items() if v}


def test_many_removed_rows_are_dropped() -> None:
    cache = LookupCache(CacheSettings(max_rows=10))
    for start in range(0, 5000, 50):
        keys = [b"%d" % k for k in range(start, start + 50)]
        cache.store(keys, found_of([[key.decode()] for key in keys]))
    assert cache._rows < 1100
    assert read(cache, [b"4999", b"7"]) == ([1], {0: ["4999"]})


def test_entries_expire_after_they_were_written() -> None:
    now = [0.0]
    cache = LookupCache(CacheSettings(expire_after_write=1000), lambda: now[0])
    cache.store([b"a"], found_of([["x"]]))
    now[0] = 0.9
    assert read(cache, [b"a"]) == ([], {0: ["x"]})
    now[0] = 1.0
    assert read(cache, [b"a"]) == ([0], {})


def test_entries_expire_after_they_were_read() -> None:
    now = [0.0]
    cache = LookupCache(CacheSettings(expire_after_access=1000), lambda: now[0])
    cache.store([b"a"], found_of([["x"]]))
    for moment in (0.9, 1.8):
        now[0] = moment
        assert read(cache, [b"a"]) == ([], {0: ["x"]})
    now[0] = 2.8
    assert read(cache, [b"a"]) == ([0], {})


def test_missing_keys_may_be_forgotten() -> None:
    cache = LookupCache(CacheSettings(missing_keys=False))
    cache.store([b"a", b"b"], found_of([[], ["x"]]))
    assert read(cache, [b"a", b"b"]) == ([0], {1: ["x"]})
