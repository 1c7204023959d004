"""Determines which partitions of a table a query reads.

    Calc(a WHERE day = 1 AND a > 2)         Calc(a WHERE day = 1 AND a > 2)
      Scan t                          ->      Scan t, partitions: day = 1

The condition stays, because it costs little on columns that are constant within a file, and a changed query is compared by it.
"""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.expressions.tree import Expression, columns_of, python_function, walk
from penstock.table import relations as r
from penstock.table.passes.merge_calcs import is_deterministic
from penstock.table.passes.rewriting import conjuncts
from penstock.table.passes.traversal import bottom_up

_CONNECTORS = ("filesystem",)  # their partitions are folders that need not be read


def prune_partitions(relation: r.Relation) -> r.Relation:
    """Adds the conditions of partition columns to the tables that have them."""
    return bottom_up(relation, _change)


def _change(relation: r.Relation) -> r.Relation:
    if not isinstance(relation, r.Calc) or not isinstance(relation.input, r.Scan):
        return relation
    scan = relation.input
    if scan.stream is not None or dict(scan.options or scan.table.options).get("connector") not in _CONNECTORS:
        return relation
    keys = {i for i, c in enumerate(scan.table.columns) if c.name in scan.table.partition_keys}
    parts = tuple(part for part in conjuncts(relation.condition) if _is_of_partition(part, keys))
    if not parts or parts == scan.partitions:
        return relation
    return msgspec.structs.replace(relation, input=msgspec.structs.replace(scan, partitions=parts))


def _is_of_partition(condition: Expression, keys: set[int]) -> bool:
    used = columns_of(condition)
    if not used or not used <= keys or not is_deterministic(condition):
        return False
    return all(python_function(part) is None for part in walk(condition))  # functions of the user run in workers
