"""Writes the result of a query to a table, or passes it to the program."""

from __future__ import annotations

from typing import Any

from penstock.connectors.basic_sinks import CollectSink
from penstock.errors import PlanError
from penstock.plan.nodes import Node
from penstock.runtime.relational.specs.operators import Conflict
from penstock.runtime.relational.steps.constraints import NotNullStep, WithoutUpdateBefore
from penstock.runtime.relational.steps.decode import EncodeStep
from penstock.runtime.relational.steps.frames import ToFrames
from penstock.runtime.relational.steps.rows import ToRows
from penstock.table import traits
from penstock.table.catalog.table import CatalogTable
from penstock.table.connectors.interface import SinkRequest, TableSink
from penstock.table.connectors.legacy_options import current_options
from penstock.table.connectors.registry import find_connector
from penstock.table.lower.base_rules import Lowered
from penstock.table.lower.lowering import Lowering
from penstock.table.relations import Relation, Sink
from penstock.table.traits import Changelog
from penstock.types.logical.kinds import Field

_ENFORCER = "table.exec.sink.not-null-enforcer"
_CONFLICTS: dict[str, Conflict] = {
    "": "deduplicate",
    "DEDUPLICATE": "deduplicate",
    "ERROR": "error",
    "NOTHING": "nothing",
}
_MATERIALIZE = "table.exec.sink.upsert-materialize"


def collect_node(relation: Relation, lowering: Lowering) -> Node:
    """Adds the nodes whose rows the program collects."""
    return lowering.graph.sink("collect", CollectSink(), stream_node(relation, lowering, named=False), "collect")


def collect_columns_node(relation: Relation, lowering: Lowering) -> Node:
    """Adds the nodes whose rows the program collects as columns."""
    lowering.begin_query(relation)
    frames = lowering.graph.step("frames", ToFrames(), lowering.lower(relation, True).node)
    return lowering.graph.sink("collect", CollectSink(), frames, "collect")


def stream_node(relation: Relation, lowering: Lowering, named: bool = True, upsert: bool = False) -> Node:
    """Adds the nodes that emit the rows of a relation with their kinds. As in PyFlink, collected rows have no field names.

    upsert: without -U.
    """
    lowering.begin_query(relation)
    lowered = lowering.lower(relation, True)
    fields = relation.row_type.fields
    node = lowered.node
    if upsert and not lowered.changelog.insert_only:
        keys = sorted(map(sorted, traits.upsert_keys(relation)), key=lambda key: (len(key), key))
        node = lowering.graph.step("without -U", WithoutUpdateBefore(keys[0] if keys else ()), node)
    step = ToRows([f.type for f in fields], [f.name for f in fields] if named else None)
    return lowering.graph.step("rows", step, node)


def sink_node(sink: Sink, lowering: Lowering) -> Node:
    """Adds the nodes that write to a table."""
    table: CatalogTable = sink.target
    lowering.begin_query(sink.input)
    settings, name = lowering.settings, sink.path[-1]
    columns = table.sink_columns
    names = [c.name for c in columns]
    key = tuple(names.index(k) for k in table.primary_key)
    options = current_options(dict(sink.options or table.options))
    changelog = lowering.changelog(sink.input)
    request = SinkRequest(
        table=table,
        path=sink.path,
        options={k: v for k, v in options.items() if not k.startswith("scan.watermark.")},
        columns=[Field(c.name, c.type) for c in columns if c.kind == "physical"],
        metadata=[(c.key or c.name, Field(c.name, c.type)) for c in columns if c.kind == "metadata"],
        primary_key=key,
        partition_keys=tuple(names.index(k) for k in table.partition_keys),
        overwrite=sink.overwrite,
        insert_only=changelog.insert_only,
        zone=settings.zone,
        batch_mode=settings.batch_mode,
    )
    target = find_connector(options, sink.path).sink(request)
    lowered = _written(sink, target, key, changelog, lowering)
    node = lowered.node
    required = [(i, c.name) for i, c in enumerate(columns) if not c.type.nullable]
    nullable = [(i, n) for i, n in required if sink.input.row_type.fields[i].type.nullable]
    if nullable:
        drop = settings.options.get(_ENFORCER, "ERROR").upper() == "DROP"
        node = lowering.graph.step(f"check {name}", NotNullStep(nullable, ".".join(sink.path), drop), node)
    if target.mode == "upsert" and not lowered.changelog.insert_only and lowered.changelog.before:
        node = lowering.graph.step("without -U", WithoutUpdateBefore(key), node)
    node = lowering.graph.step(f"encode {name}", EncodeStep(target.encoder), node)
    parallelism = options.get("sink.parallelism")
    return lowering.graph.sink(
        name, target.sink, node, ".".join(sink.path), None if parallelism is None else int(parallelism)
    )


def _written(sink: Sink, target: TableSink, key: tuple[int, ...], changelog: Changelog, lowering: Lowering) -> Lowered:
    """The rows in the form that the sink takes, or an error if it cannot take them."""
    where = ".".join(sink.path)
    if changelog.insert_only and not (sink.conflict and target.mode == "upsert"):
        return lowering.lower(sink.input, False)
    if target.mode == "append":
        raise PlanError(
            "SQL_SINK_CHANGELOG",
            f"Table sink '{where}' doesn't support consuming update and delete changes, which the query produces "
            f"([{changelog.kinds()}]). Write to a table that accepts them, such as upsert-kafka, or aggregate in windows.",
        )
    if target.mode == "retract":
        return lowering.lower(sink.input, True)
    if not key:
        raise PlanError(
            "SQL_SINK_KEY", f"Table sink '{where}' is written by key, but declares no PRIMARY KEY (...) NOT ENFORCED."
        )
    if _needs_materialization(sink.input, key, lowering):
        complete = lowering.lower(sink.input, True)
        types = tuple(f.type for f in sink.input.row_type.fields)
        with lowering.graph.of(sink):
            return lowering.materialized_by_key(complete, types, key, _CONFLICTS[sink.conflict])
    return lowering.lower(sink.input, False)


def _needs_materialization(relation: Relation, key: tuple[int, ...], lowering: Lowering) -> bool:
    """Whether changes of one primary key may come from several keys of the query."""
    choice: Any = lowering.settings.options.get(_MATERIALIZE, "AUTO").upper()
    if choice in ("NONE", "FORCE"):
        return bool(choice == "FORCE")
    return not any(found <= set(key) for found in traits.upsert_keys(relation))
