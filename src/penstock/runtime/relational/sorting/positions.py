"""Positions of the rows of groups."""

from __future__ import annotations

from penstock.runtime.relational.keys import RowGroups


def positions_by_group(groups: RowGroups) -> list[list[int]]:
    """Returns the positions of the rows of each group, in their order.

    >>> import pyarrow as pa
    >>> from penstock.runtime.relational.keys import group_rows
    >>> positions_by_group(group_rows([pa.array(["b", "a", "b"])], 3))
    [[0, 2], [1]]
    """
    order, starts = groups.order()
    at, edges = order.tolist(), [*starts.tolist(), len(order)]
    return [at[edges[i] : edges[i + 1]] for i in range(len(groups))]
