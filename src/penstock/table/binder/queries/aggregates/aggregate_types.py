"""The types of aggregate calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.runtime.relational.aggregates.registry import aggregate_type
from penstock.types.logical.kinds import LogicalType


def call_type(
    name: str,
    types: Sequence[LogicalType],
    literals: Sequence[Any],
    *,
    distinct: bool = False,
    grouped: bool = True,
    filtered: bool = False,
) -> tuple[LogicalType, dict[int, LogicalType]]:
    """Returns the type of a call and the types that its arguments must be converted to. Raises TypeMismatch."""
    found = aggregate_type(name, types, literals, distinct, grouped=grouped, filtered=filtered)
    return found.type, found.casts
