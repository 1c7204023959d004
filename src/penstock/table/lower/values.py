"""VALUES: rows of constants as a source."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.connectors.collection import CollectionSource
from penstock.plan.nodes import Node
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.expressions.values import from_values
from penstock.table.lower.graph import GraphBuilder
from penstock.table.lower.settings import QuerySettings
from penstock.table.relations import Frame, Values
from penstock.types.logical.arrow import arrow_type


class ValuesStep:
    """Replaces the numbers of rows by the rows."""

    def __init__(self, rows: Changes) -> None:
        self._columns = rows.columns

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        at = np.array(rows, np.int64)
        return StepResult(Changes([c.take(pa.array(at)) for c in self._columns], len(at)))


def values_nodes(values: Values, graph: GraphBuilder, settings: QuerySettings) -> Node:
    """Adds a source of the rows."""
    session = Session(zone=settings.zone, database=settings.database, started=settings.started)
    if isinstance(values, Frame):
        numbers = CollectionSource(range(len(values.data.changes)))
        return graph.step("frame", ValuesStep(values.data.changes), graph.source("frame", numbers, values.data.digest))
    types = [arrow_type(f.type) for f in values.row_type.fields]
    rows = _literal_rows(values)
    if rows is None:
        parts = []
        for row in values.rows:
            columns = Projection(row, session)((), 1)
            parts.append(Changes([c if c.type == t else c.cast(t) for c, t in zip(columns, types, strict=True)], 1))
        rows = Changes.concatenate(parts)
    node = graph.source("values", CollectionSource(list(range(len(values.rows)))), repr(values.rows))
    return graph.step("values", ValuesStep(rows), node)


def _literal_rows(values: Values) -> Changes | None:
    """The rows if all values are literals of the columns' types, as those of `from_elements`, of which there may be many."""
    columns = []
    for index, field in enumerate(values.row_type.fields):
        type_ = field.type.with_nullable(True)
        cells = [row[index] for row in values.rows]
        found = [c.value for c in cells if isinstance(c, Literal) and c.type.with_nullable(True) == type_]
        if len(found) < len(cells):
            return None
        columns.append(from_values(found, field.type))
    return Changes(columns, len(values.rows))
