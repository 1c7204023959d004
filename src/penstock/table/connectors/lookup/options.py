"""The options of tables that can be looked up."""

from __future__ import annotations

from penstock.runtime.relational.joins.lookup.settings import CacheSettings
from penstock.table.connectors.options import Option, OptionValues

PARTIAL_CACHE_OPTIONS = (
    Option("lookup.cache", "enum", "NONE", choices=("NONE", "PARTIAL")),
    Option("lookup.partial-cache.max-rows", "int"),
    Option("lookup.partial-cache.expire-after-write", "duration"),
    Option("lookup.partial-cache.expire-after-access", "duration"),
    Option("lookup.partial-cache.cache-missing-key", "boolean", True),
    Option("lookup.max-retries", "int", 3),
)
FULL_CACHE_OPTIONS = (
    Option("lookup.cache", "enum", "FULL", choices=("FULL",)),
    Option("lookup.full-cache.reload-strategy", "enum", "PERIODIC", choices=("PERIODIC",)),
    Option("lookup.full-cache.periodic-reload.interval", "duration"),
)


def cache_settings(values: OptionValues) -> CacheSettings | None:
    """Returns the settings of the cache, or None for 'lookup.cache' = 'NONE'."""
    settings = CacheSettings(
        values["lookup.partial-cache.max-rows"],
        values["lookup.partial-cache.expire-after-write"],
        values["lookup.partial-cache.expire-after-access"],
        values["lookup.partial-cache.cache-missing-key"],
    )
    if values["lookup.cache"] == "PARTIAL":
        return settings
    unused = sorted(name for name in values.set if name.startswith("lookup.partial-cache."))
    if unused:
        raise values.error(f"Option '{unused[0]}' needs 'lookup.cache' = 'PARTIAL'.")
    return None
