"""Lookup joins as steps, or as operators if a changelog must be remembered."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import PlanError
from penstock.runtime.relational.expressions.tree import columns_of
from penstock.runtime.relational.joins.lookup.settings import CacheSettings, RetrySettings
from penstock.runtime.relational.joins.lookup.table import LookupTable
from penstock.runtime.relational.specs.lookup import LookupSpec
from penstock.table import relations as r
from penstock.table.catalog.table import CatalogTable
from penstock.table.connectors.interface import LookupRequest
from penstock.table.connectors.lookup.hint import LookupHint, hint_for, read_lookup_hint
from penstock.table.connectors.registry import find_lookup_connector
from penstock.table.lower.places import remapped
from penstock.table.lower.settings import QuerySettings
from penstock.table.passes.lookup_keys import constant_columns, lookup_keys, lookup_right
from penstock.table.passes.rewriting import conjunction, conjuncts
from penstock.types.logical.kinds import Field

_STRATEGY = "table.optimizer.non-deterministic-update.strategy"


class LoweredLookup(NamedTuple):
    """The specification and the table of a lookup join."""

    spec: LookupSpec
    table: LookupTable
    cache: CacheSettings | None
    retry: RetrySettings | None
    shuffle: bool


def lower_lookup(join: r.LookupJoin, settings: QuerySettings) -> LoweredLookup:
    """Asks the connector for a table that finds the keys of a join."""
    right = lookup_right(join.right)
    assert right is not None  # the binder and the passes make no others
    table: CatalogTable = right.scan.table
    path = right.scan.path
    options = dict(right.scan.options or table.options)
    keys = lookup_keys(join, right)
    outside = [] if right.condition is None else [right.condition]
    read = sorted({*columns_of(*right.columns, *outside), *(key.column for key in keys)})
    for column in read:
        if table.columns[column].kind == "metadata":
            raise PlanError(
                "SQL_LOOKUP_JOIN",
                f"Column '{table.columns[column].name}' of {'.'.join(path)} is metadata, which a lookup join cannot read.",
            )
    places = {column: place for place, column in enumerate(read)}
    hint = _hint(join, path[-1])
    timeout = hint.timeout or settings.duration("table.exec.async-lookup.timeout")
    request = LookupRequest(
        table=table,
        path=path,
        options={k: v for k, v in options.items() if not k.startswith("scan.watermark.")},
        columns=[Field(table.columns[c].name, table.columns[c].type) for c in read],
        keys=tuple(places[key.column] for key in keys),
        equal=tuple((places[c], value) for c, value in constant_columns(right)),
        zone=settings.zone,
        timeout=timeout,
    )
    connector = find_lookup_connector(options)
    assert connector is not None
    source = connector.lookup(request)
    used = [key for key in keys if places[key.column] in source.keys]
    used.sort(key=lambda key: source.keys.index(places[key.column]))
    checked = {key.part for key in used}
    rest = conjunction([part for part in conjuncts(join.condition) if part not in checked])
    spec = LookupSpec(
        left_keys=tuple(key.value for key in used),
        key_types=tuple(table.columns[key.column].type for key in used),
        read_types=tuple(table.columns[c].type for c in read),
        right_columns=tuple(remapped(c, places) for c in right.columns),
        right_condition=None if right.condition is None else remapped(right.condition, places),
        condition=rest,
        kind=join.kind,
        zone=settings.zone,
    )
    return LoweredLookup(spec, source.table, source.cache, hint.retry, hint.shuffle)


def remembers(settings: QuerySettings) -> bool:
    """Whether a lookup join of a changelog must remember what each row has found."""
    return settings.options.get(_STRATEGY, "IGNORE").strip().upper() == "TRY_RESOLVE"


def _hint(join: r.LookupJoin, table: str) -> LookupHint:
    given = hint_for(join.hints, [table])
    return LookupHint() if given is None else read_lookup_hint(given)
