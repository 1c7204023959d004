"""The fields of a stream as expressions: `from_data_stream(stream, col("a"), col("t").rowtime)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.datastream import DataStream
from penstock.errors import PlanError
from penstock.table.api import queries
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table
from penstock.table.data_types import DataTypes
from penstock.table.dialect import nodes
from penstock.table.environment.descriptor import Schema
from penstock.table.expressions.types import type_reference
from penstock.table.streams.element_types import columns_of_elements
from penstock.table.streams.from_stream import scan_of_stream

if TYPE_CHECKING:
    from penstock.table.environment.environment import TableEnvironment

_ROWTIME, _PROCTIME = "stream rowtime", "stream proctime"  # names that fields of programs do not have


def table_of_fields(environment: TableEnvironment, stream: DataStream[Any], fields: Sequence[Any]) -> Table:
    """Returns a table with fields of a stream, its timestamps (`rowtime`) and the processing time (`proctime`).

    Fields are found by name if one of the names is a field of the elements, and else by position.
    """
    items = [_split(node) for node in nodes_of(fields)]
    own = [field.name for field in columns_of_elements(stream.get_type())]
    builder = Schema.new_builder()
    kinds = {kind for _, _, kind in items}
    if "ROWTIME" in kinds:
        builder.column_by_metadata(_ROWTIME, DataTypes.TIMESTAMP_LTZ(3), "rowtime", True)
        builder.watermark(_ROWTIME, "SOURCE_WATERMARK()")
    if "PROCTIME" in kinds:
        builder.column_by_expression(_PROCTIME, "PROCTIME()")
    table = Table(environment, scan_of_stream(stream, builder.build().draft, "append"))
    sources = _sources(items, own)
    return table._select(
        [queries.named(queries.column(s), name) for s, (_, name, _) in zip(sources, items, strict=True)]
    )


def _split(node: exp.Expr) -> tuple[str, str, str]:
    """The field that an expression reads, the name of the column, and ROWTIME, PROCTIME or nothing."""
    name = ""
    if isinstance(node, exp.Alias):
        node, name = node.this, node.alias
    kind = ""
    if isinstance(node, nodes.WindowProperty) and node.args["kind"] in ("ROWTIME", "PROCTIME"):
        node, kind = node.this, node.args["kind"]
        if isinstance(node, exp.Alias):
            node, name = node.this, node.alias
    if not isinstance(node, exp.Column):
        raise PlanError(
            "STREAM_COLUMNS",
            "A field of a stream is a name, such as col('a'), col('a').alias('b') or col('t').rowtime.",
        )
    return node.name, name or node.name, kind


def _sources(items: Sequence[tuple[str, str, str]], own: Sequence[str]) -> list[str]:
    times = {"ROWTIME": _ROWTIME, "PROCTIME": _PROCTIME}
    plain = [field for field, _, kind in items if not kind]
    if any(field in own for field in plain) or not plain:
        for field in plain:
            if field not in own:
                raise PlanError(
                    "STREAM_COLUMNS", f"The stream has no field '{field}'. Its fields are {', '.join(own)}."
                )
        return [times.get(kind, field) for field, _, kind in items]
    found, place = [], 0
    for _, _, kind in items:
        if not kind and place >= len(own):
            raise PlanError(
                "STREAM_COLUMNS", f"The stream has {len(own)} fields, and more names were passed: {', '.join(plain)}."
            )
        found.append(times[kind] if kind else own[place])
        place += kind != "PROCTIME"
    return found


def converted_table(table: Table, schema: Schema) -> Table:
    """Returns a table with the names and types of the physical columns of a schema, by their order."""
    names = queries.names_of(table.relation)
    wanted = [column for column in schema.draft.columns if column.kind == "physical"]
    if not wanted:
        return table
    if len(wanted) != len(names):
        raise PlanError(
            "STREAM_COLUMNS",
            f"The schema has {len(wanted)} columns, and the table has {len(names)}: {', '.join(names)}.",
        )
    items = []
    for name, column in zip(names, wanted, strict=True):
        assert column.type is not None
        cast = exp.Cast(this=queries.column(name), to=type_reference(column.type))
        items.append(queries.named(cast, column.name))
    return table._select(items)
