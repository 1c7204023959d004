"""Settings of a lookup: the cache of a table, and how a miss is repeated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The option lookup.cache = PARTIAL: rows that were found are kept in the worker. Times are in milliseconds; None: no limit."""

    max_rows: int | None = None
    expire_after_write: int | None = None
    expire_after_access: int | None = None
    missing_keys: bool = True  # whether it is remembered that a key has no rows


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """The hint LOOKUP with 'retry-predicate' = 'lookup_miss': keys without rows are looked up again after a delay."""

    attempts: int = 0
    delay: int = 0  # milliseconds
