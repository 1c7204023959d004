"""Tables that several parts of a query read: they are read and decoded once, with the columns that any part uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.runtime.relational.expressions.tree import Expression, columns_of
from penstock.table.lower.scan import ScannedTable, is_normalized, scan_mode
from penstock.table.lower.settings import QuerySettings
from penstock.table.relations import Calc, Relation, Scan

_OPTION = "table.optimizer.reuse-source-enabled"


@dataclass(slots=True)
class SharedScan:
    """What a query reads of a table. readers: all expressions that read it; None if a part reads whole rows."""

    scan: Scan
    used: set[int]
    readers: list[Expression] | None
    parts: int = 1
    found: ScannedTable | None = None  # after the first part has added the nodes

    def add(self, used: set[int], readers: list[Expression] | None) -> None:
        """Adds another part."""
        self.parts += 1
        self.used |= used
        self.readers = None if self.readers is None or readers is None else [*self.readers, *readers]


class SharedScans:
    """The tables of one query. Queries of a statement set read a table each for itself, so that one can be added or removed
    without a change of the positions of the others.
    """

    def __init__(self, relation: Relation | None, settings: QuerySettings) -> None:
        self._shared: list[SharedScan] = []
        if relation is None or not settings.flag(_OPTION, default=True):
            return
        for scan, used, readers in _reads(relation, set()):
            if is_normalized(scan.table, scan_mode(scan, settings), settings):
                continue  # the rows are state, which should have no columns of other parts
            same = self._find(scan)
            if same is None:
                self._shared.append(SharedScan(scan, used, readers))
            else:
                same.add(used, readers)

    def find(self, scan: Scan) -> SharedScan | None:
        """Returns what the query reads of a table, if several parts read it."""
        found = self._find(scan)
        return found if found is not None and found.parts > 1 else None

    def _find(self, scan: Scan) -> SharedScan | None:
        return next((shared for shared in self._shared if _is_same(shared.scan, scan)), None)


def _is_same(one: Scan, other: Scan) -> bool:
    return one is other or (
        one.path == other.path
        and one.options == other.options
        and one.partitions == other.partitions
        and one.dead_letters == other.dead_letters
        and one.table == other.table
    )


def _reads(relation: Relation, done: set[int]) -> Iterator[tuple[Scan, set[int], list[Expression] | None]]:
    """Yields the tables with the used columns and the expressions that read them. A relation is added to the graph once."""
    if id(relation) in done:
        return
    done.add(id(relation))
    if isinstance(relation, Scan):
        if relation.stream is None:
            yield relation, set(range(len(relation.row_type.fields))), None
        return
    if isinstance(relation, Calc) and isinstance(relation.input, Scan):
        if relation.input.stream is None:
            condition = [] if relation.condition is None else [relation.condition]
            readers = [*relation.projections, *condition]
            yield relation.input, columns_of(*readers), readers
        return
    for below in relation.inputs():
        yield from _reads(below, done)
