"""The kinds of objects that a stored plan contains: relations, expressions, types and definitions of tables.

A kind is the name of a class. Stored plans contain kinds, so a class that is renamed must keep its kind here.
"""

from __future__ import annotations

from types import ModuleType

import msgspec

from penstock.runtime.relational.expressions import tree
from penstock.runtime.relational.specs import aggregate_call, match, operators, pattern_tree, window
from penstock.table import relations
from penstock.table.catalog import table as tables
from penstock.types.logical import kinds as types

_NOT_STORED = {"StreamInput", "Frame"}  # they refer to objects of the program


def _structs(module: ModuleType) -> dict[str, type[msgspec.Struct]]:
    found = {}
    for name, value in vars(module).items():
        own = isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__
        if own and not name.startswith("_") and name not in _NOT_STORED:
            found[name] = value
    return found


KINDS: dict[str, type[msgspec.Struct]] = {
    **_structs(relations),
    **_structs(tree),
    **_structs(types),
    **_structs(aggregate_call),
    **_structs(match),
    **_structs(pattern_tree),
    **_structs(window),
    **_structs(tables),
    "OverCall": operators.OverCall,
}
