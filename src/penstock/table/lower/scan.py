"""Reads a table: source, decoder, computed columns and watermarks, with only the columns that the query uses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import PlanError
from penstock.formats.columns.json_decoder import JsonDecoder
from penstock.plan.nodes import Node
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, columns_of, paths_of
from penstock.runtime.relational.steps.calc import CalcStep
from penstock.runtime.relational.steps.decode import DecodeStep
from penstock.runtime.relational.steps.rows import FromElements
from penstock.runtime.relational.steps.watermarks import RowtimeWatermarks
from penstock.table.catalog.table import CatalogTable
from penstock.table.connectors.interface import ChangelogMode, Connector, ScanRequest, TableSource
from penstock.table.connectors.legacy_options import current_options
from penstock.table.connectors.registry import find_connector
from penstock.table.functions.catalogue import closest
from penstock.table.lower.dead_letters import dead_letter_table, write_dead_letters
from penstock.table.lower.graph import GraphBuilder
from penstock.table.lower.places import ColumnPlaces, FieldPath, field_path, remapped
from penstock.table.lower.settings import QuerySettings, duration_in_ms
from penstock.table.relations import Scan, StreamInput
from penstock.time import WatermarkStrategy
from penstock.types.logical.kinds import Field, RowType, TimestampType

_IDLE = "scan.watermark.idle-timeout"
_PLANNER_OPTIONS = "scan.watermark."  # read here, not by connectors


@dataclass(frozen=True, slots=True)
class ScannedTable:
    """The node of a table, and where its columns are."""

    node: Node
    places: ColumnPlaces
    mode: ChangelogMode


def is_normalized(table: CatalogTable, mode: ChangelogMode, settings: QuerySettings) -> bool:
    """Whether the rows of a table pass a normalization by its primary key: upserts do, and messages that may be repeated."""
    duplicates = settings.flag("table.exec.source.cdc-events-duplicate") and bool(table.primary_key)
    return mode == "upsert" or (mode == "retract" and duplicates)


def scan_table(
    scan: Scan,
    used: Collection[int],
    graph: GraphBuilder,
    settings: QuerySettings,
    readers: Sequence[Expression] | None = None,
) -> ScannedTable:
    """Adds the nodes that read the used columns of a table, given by their positions.

    `readers` are all expressions that read the columns, if they are known: then only the fields of rows that they use are read.
    """
    table: CatalogTable = scan.table
    options = dict(scan.options or table.options)
    wanted = set(used)
    if table.watermark is not None:
        wanted |= {table.watermark.column} | columns_of(table.watermark.expression)
    mode = scan_mode(scan, settings)
    if is_normalized(table, mode, settings):
        wanted |= {i for i, c in enumerate(table.columns) if c.name in table.primary_key}
    name, order = scan.path[-1], sorted(wanted)
    columns = _decoded_columns(table, wanted)
    decoded = ColumnPlaces({column: place for place, column in enumerate(columns)}, {})
    if scan.stream is None:
        source = _source(scan, columns, options, settings)
        dead_letters = dead_letter_table(scan, options)
        on_error = source.on_error if dead_letters is None else "dead_letter"
        node = read = graph.source(name, source.source, ".".join(scan.path), on_error)
        decoder = source.decoder
        if readers is not None and isinstance(decoder, JsonDecoder) and mode == "append":
            flattened = decoder.flattened(_paths(table, readers, columns))
            if flattened is not None:
                decoder, leaves = flattened
                decoded = _places([(columns[place], *path) for place, *path in leaves])
        decode, names = DecodeStep(decoder, source.on_error == "skip"), [table.columns[i].name for i in columns]
        node = graph.step(f"decode {name}", decode, node, str(order), on_error, names)
        if dead_letters is not None:
            write_dead_letters(scan, dead_letters, [read, node], graph, settings)
    else:
        step = elements_step(table, scan.stream, columns)
        names = [table.columns[i].name for i in columns]
        node = graph.step("table of a stream", step, scan.stream.stream._node, str(order), columns=names)
    outputs = [path for column in order for path in _paths_in(column, decoded)]
    places = _places(outputs)
    computed = tuple(_computed(table, path, decoded) for path in outputs)
    if any(not isinstance(e, Column) or e.index != i for i, e in enumerate(computed)) or len(computed) != decoded.width:
        calc = CalcStep(computed, None, settings.zone, settings.database, settings.started)
        node = graph.step(f"columns of {name}", calc, node, repr(computed))
    if table.watermark is not None and not settings.batch_mode:
        node = _watermarks(scan, table, places, options, node, graph, settings)
    return ScannedTable(node, places, mode)


def scan_mode(scan: Scan, settings: QuerySettings) -> ChangelogMode:
    """Returns the changes of a table, without adding nodes."""
    if scan.stream is not None:
        return scan.stream.mode
    decoded = _decoded_columns(scan.table, set(range(len(scan.table.columns))))
    return _source(scan, decoded, dict(scan.options or scan.table.options), settings).mode


def elements_step(table: CatalogTable, stream: StreamInput, columns: list[int]) -> FromElements:
    """Returns the step that turns the elements of a stream into columns. The timestamps are the last column, if they are read."""
    physical = [i for i, c in enumerate(table.columns) if c.kind == "physical"]
    read = [i for i in columns if table.columns[i].kind == "physical"]
    return FromElements(
        [table.columns[i].type for i in read],
        [table.columns[i].name for i in read],
        [physical.index(i) for i in read],
        whole=stream.whole,
        with_timestamps=len(read) < len(columns),
        with_kinds=stream.mode != "append",
    )


def _decoded_columns(table: CatalogTable, wanted: set[int]) -> list[int]:
    """The physical and metadata columns that the wanted columns need, physical ones first."""
    needed = set(wanted)
    while True:
        more = {i for c in needed if (e := table.columns[c].expression) is not None for i in columns_of(e)} - needed
        if not more:
            break
        needed |= more
    kept = [i for i in sorted(needed) if table.columns[i].kind != "computed"]
    if not kept and table.columns:  # COUNT(*): some column must say how many rows there are
        kept = [next(i for i, c in enumerate(table.columns) if c.kind != "computed")]
    return sorted(kept, key=lambda i: table.columns[i].kind == "metadata")


def _paths(table: CatalogTable, readers: Sequence[Expression], columns: list[int]) -> dict[int, Any]:
    """What the expressions read of the decoded columns, directly or by computed columns."""
    expressions = list(readers)
    if table.watermark is not None:
        expressions += [
            table.watermark.expression,
            Column(table.watermark.column, table.columns[table.watermark.column].type),
        ]
    found: dict[int, Any] = {}
    done: set[int] = set()
    while True:
        found = paths_of(*expressions)
        computed = {i for i in found if table.columns[i].kind == "computed"} - done
        if not computed:
            break
        done |= computed
        expressions += [e for i in computed if (e := table.columns[i].expression) is not None]
    return {place: found.get(column) for place, column in enumerate(columns)}


def _source(scan: Scan, decoded: list[int], options: dict[str, str], settings: QuerySettings) -> TableSource:
    table: CatalogTable = scan.table
    options = current_options(options)
    columns = [table.columns[i] for i in decoded]
    request = ScanRequest(
        table=table,
        path=scan.path,
        options={k: v for k, v in options.items() if not k.startswith(_PLANNER_OPTIONS)},
        columns=[Field(c.name, c.type) for c in columns if c.kind == "physical"],
        metadata=[(c.key or c.name, Field(c.name, c.type)) for c in columns if c.kind == "metadata"],
        zone=settings.zone,
        batch_mode=settings.batch_mode,
        partitions=scan.partitions,
    )
    connector = find_connector(options, scan.path)
    _check_metadata(connector, table, scan.path, request.options)
    source = connector.source(request)
    if settings.batch_mode and not source.source.bounded:
        raise PlanError(
            "SQL_UNBOUNDED",
            f"Table {'.'.join(scan.path)} is unbounded and cannot be read in batch mode. Use streaming mode, or bound the table, "
            "such as with 'scan.bounded.mode' = 'latest-offset'.",
        )
    return source


def _check_metadata(connector: Connector, table: CatalogTable, path: Sequence[str], options: dict[str, str]) -> None:
    """Refuses columns of metadata that the connector and its format do not have."""
    wanted = {column.key or column.name: column.name for column in table.columns if column.kind == "metadata"}
    known = connector.metadata_columns(options) if wanted else {}
    for key, name in wanted.items():
        if key not in known:
            near = closest(key, list(known))
            hint = f" Did you mean '{near}'?" if near else ""
            raise PlanError(
                "TABLE_METADATA",
                f"Table {'.'.join(path)}: Invalid metadata key '{key}' in column '{name}'.{hint} The connector "
                f"'{connector.name}' and its format have: {', '.join(sorted(known)) or 'none'}.",
            )


def _places(paths: Sequence[FieldPath]) -> ColumnPlaces:
    """The places of columns, and of fields of rows, that follow each other."""
    whole = {path[0]: place for place, path in enumerate(paths) if len(path) == 1}
    return ColumnPlaces(whole, {path: place for place, path in enumerate(paths) if len(path) > 1})


def _paths_in(column: int, decoded: ColumnPlaces) -> list[FieldPath]:
    """A column of the table, or its fields if these were decoded."""
    return [path for path in decoded.fields if path[0] == column] or [(column,)]


def _computed(table: CatalogTable, path: FieldPath, decoded: ColumnPlaces) -> Expression:
    """A column of the table, or a field of it, as an expression over the decoded columns."""
    definition = table.columns[path[0]]
    if definition.kind == "computed":
        assert definition.expression is not None
        return _replaced(definition.expression, table, decoded)
    if len(path) == 1:
        return Column(decoded[path[0]], definition.type, definition.name)
    type_, names = definition.type, [definition.name]
    for position in path[1:]:
        assert isinstance(type_, RowType)
        field = type_.fields[position]
        type_, names = field.type.with_nullable(field.type.nullable or type_.nullable), [*names, field.name]
    return Column(decoded.fields[path], type_, ".".join(names))


def _replaced(expression: Expression, table: CatalogTable, decoded: ColumnPlaces) -> Expression:
    if isinstance(expression, Column):
        return _computed(table, (expression.index,), decoded)
    if isinstance(expression, Call):
        if (path := field_path(expression)) in decoded.fields:
            return _computed(table, path, decoded)
        arguments = tuple(_replaced(a, table, decoded) for a in expression.arguments)
        return Call(expression.function, arguments, expression.type, expression.options)
    return expression


def _watermarks(
    scan: Scan,
    table: CatalogTable,
    places: ColumnPlaces,
    options: dict[str, str],
    node: Node,
    graph: GraphBuilder,
    settings: QuerySettings,
) -> Node:
    watermark = table.watermark
    assert watermark is not None
    type_ = table.columns[watermark.column].type
    assert isinstance(type_, TimestampType)
    evaluate = RowtimeWatermarks(
        places[watermark.column],
        remapped(watermark.expression, places),
        f"{'.'.join(scan.path)}.{table.columns[watermark.column].name}",
        settings.zone,
    )
    idle = options.get(_IDLE) or settings.options.get("table.exec.source.idle-timeout")
    strategy = WatermarkStrategy("columns", columns=evaluate)
    if idle is not None and (timeout := duration_in_ms(_IDLE, idle)) > 0:
        strategy = strategy.with_idleness(timeout)
    group = options.get("scan.watermark.alignment.group")
    if group is not None:
        drift = options.get("scan.watermark.alignment.max-drift")
        if drift is None:
            raise PlanError(
                "SQL_OPTION",
                f"Table {'.'.join(scan.path)} has 'scan.watermark.alignment.group', but no "
                "'scan.watermark.alignment.max-drift'. Add it, such as '1 min'.",
            )
        strategy = strategy.with_watermark_alignment(group, duration_in_ms("scan.watermark.alignment.max-drift", drift))
    return graph.watermarks(f"watermarks of {scan.path[-1]}", strategy, node)
