"""The specification of a lookup join."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.specs.operators import OperatorSpec
from penstock.types.logical.kinds import LogicalType


class LookupSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a lookup join computes. Output: the columns of the left input, then `right_columns`.

    left_keys: over the columns of the left input, one for each key of the table. key_types: the types of the keys.
    read_types: the columns that the table returns. right_columns and right_condition: over these columns.
    condition: over the columns of the left input and the right columns, besides equal keys.
    """

    left_keys: tuple[Expression, ...]
    key_types: tuple[LogicalType, ...]
    read_types: tuple[LogicalType, ...]
    right_columns: tuple[Expression, ...]
    right_condition: Expression | None = None
    condition: Expression | None = None
    kind: Literal["INNER", "LEFT"] = "INNER"
    zone: str = "UTC"


class LookupJoinSpec(OperatorSpec, frozen=True, kw_only=True, tag="lookup_join"):
    """A lookup join that remembers which rows each row found, so that its deletion removes the same rows from the result.

    table: a `LookupTable`. cache and retry: its settings, or None. keys: the columns of the left input that identify the slot of a
    row.
    """

    lookup: LookupSpec
    table: Any
    cache: Any = None
    retry: Any = None
