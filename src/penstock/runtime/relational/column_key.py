"""The key of an exchange between relational operators: some columns of the rows."""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import RowGroups, encode_keys, group_rows
from penstock.types.logical.kinds import LogicalType


class ColumnKey(msgspec.Struct, frozen=True):
    """Columns by position, with their types. Without columns, all rows have the same key."""

    columns: tuple[int, ...]
    types: tuple[LogicalType, ...]

    def groups(self, changes: Changes) -> tuple[RowGroups, list[bytes]]:
        """Returns the rows grouped by key, and the bytes of the key of each group."""
        columns = [changes.columns[i] for i in self.columns]
        groups = group_rows(columns, changes.length)
        firsts = changes.select(self.columns).take(groups.first)
        return groups, encode_keys(firsts.columns, self.types, len(groups))
