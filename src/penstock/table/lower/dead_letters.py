"""Writes records that do not match the columns of a table to the table of dead letters that it names."""

from __future__ import annotations

from penstock.plan.nodes import Node
from penstock.runtime.relational.steps.decode import EncodeStep
from penstock.table.connectors.dead_letters import PATH, PREFIX, DeadLetterRows, file_table
from penstock.table.connectors.interface import SinkRequest
from penstock.table.connectors.legacy_options import current_options
from penstock.table.connectors.registry import find_connector
from penstock.table.lower.graph import GraphBuilder
from penstock.table.lower.settings import QuerySettings
from penstock.table.relations import DeadLetterTable, Scan
from penstock.types.logical.kinds import Field


def dead_letter_table(scan: Scan, options: dict[str, str]) -> DeadLetterTable | None:
    """Returns the table that takes the dead letters of a table, or None if its records must not be bad."""
    if scan.dead_letters is not None:
        return scan.dead_letters
    if PATH not in options:
        return None
    return DeadLetterTable(file_table(options[PATH]), (*scan.path[:-1], f"{scan.path[-1]}$dead_letters"))


def write_dead_letters(
    scan: Scan, target: DeadLetterTable, readers: list[Node], graph: GraphBuilder, settings: QuerySettings
) -> None:
    """Adds the nodes that write the dead letters of a source and of its decoder."""
    table = target.table
    options = current_options({k: v for k, v in table.options if not k.startswith((PREFIX, "scan.watermark."))})
    columns = table.sink_columns
    names = [c.name for c in columns]
    request = SinkRequest(
        table=table,
        path=target.path,
        options=options,
        columns=[Field(c.name, c.type) for c in columns if c.kind == "physical"],
        metadata=[(c.key or c.name, Field(c.name, c.type)) for c in columns if c.kind == "metadata"],
        primary_key=tuple(names.index(k) for k in table.primary_key),
        partition_keys=tuple(names.index(k) for k in table.partition_keys),
        zone=settings.zone,
        batch_mode=settings.batch_mode,
    )
    found = find_connector(options, target.path).sink(request)
    source, of = ".".join(scan.path), scan.path[-1]
    rejected = graph.union([graph.dead_letters(node) for node in readers])
    rows = DeadLetterRows(source, [Field(c.name, c.type) for c in columns])
    node = graph.step(f"dead letters of {of}", rows, rejected, source)
    node = graph.step(f"encode dead letters of {of}", EncodeStep(found.encoder), node)
    graph.sink(f"dead letters of {of}", found.sink, node, f"dead letters of {source} to {'.'.join(target.path)}")
