"""ALTER TABLE and ALTER MATERIALIZED TABLE."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.columns import distribution, placed_elements
from penstock.table.dialect.rules.parts import (
    column_path,
    if_exists,
    if_not_exists,
    object_name,
    option_keys,
    options,
    partition,
    query,
    with_options,
)
from penstock.table.dialect.statements import alter_table as actions
from penstock.table.dialect.statements.statement import ObjectName, PartitionValue, Statement


def alter_table(p: FlinkParser) -> Statement:
    exists = if_exists(p)
    name = object_name(p, "the name of a table")
    if p.take("RENAME"):
        return _rename(p, name, exists)
    if p.take("SET"):
        return actions.SetTableOptions(name, exists, options=options(p))
    if p.take("RESET"):
        return actions.ResetTableOptions(name, exists, keys=option_keys(p))
    if p.take("ADD"):
        if p.at("PARTITION") or p.at_sequence("IF", "NOT"):
            return _add_partitions(p, name, exists)
        return _add_or_modify(p, name, exists, False, "ADD")
    if p.take("MODIFY"):
        return _add_or_modify(p, name, exists, False, "MODIFY")
    p.expect("DROP")
    if p.at("PARTITION") or p.at_sequence("IF", "EXISTS"):
        absent = if_exists(p)
        parts = p.comma_list(lambda: _partition(p))
        return actions.DropPartitions(name, exists, partitions=tuple(parts), if_partition_exists=absent)
    return _drop(p, name, exists, False)


def alter_materialized_table(p: FlinkParser) -> Statement:
    name = object_name(p, "the name of a materialized table")
    if p.take("SUSPEND"):
        return actions.SuspendTable(name, materialized=True)
    if p.take("RESUME"):
        return actions.ResumeTable(name, materialized=True, options=with_options(p))
    if p.take("REFRESH"):
        part = _partition(p) if p.at("PARTITION") else ()
        return actions.RefreshTable(name, materialized=True, partition=part)
    if p.take("SET"):
        return _set_materialized(p, name)
    if p.take("RESET"):
        return actions.ResetTableOptions(name, materialized=True, keys=option_keys(p))
    if p.take("AS"):
        return actions.ChangeTableQuery(name, materialized=True, query=query(p))
    if action := p.take_one("ADD", "MODIFY"):
        return _add_or_modify(p, name, False, True, action)
    p.expect("DROP")
    return _drop(p, name, False, True)


def _rename(p: FlinkParser, name: ObjectName, exists: bool) -> Statement:
    if p.take("TO"):
        return actions.RenameTable(name, exists, new_name=object_name(p, "the name of a table"))
    old = column_path(p)
    p.expect("TO")
    return actions.RenameColumn(name, exists, column=old, new_column=column_path(p))


def _set_materialized(p: FlinkParser, name: ObjectName) -> Statement:
    if p.take("FRESHNESS"):
        p.expect_symbol(TokenType.EQ)
        return actions.SetFreshness(name, materialized=True, freshness=p.interval_literal())
    if p.take("REFRESH_MODE"):
        p.expect_symbol(TokenType.EQ)
        return actions.SetRefreshMode(name, materialized=True, mode=p.expect_one("FULL", "CONTINUOUS"))
    return actions.SetTableOptions(name, materialized=True, options=options(p))


def _add_or_modify(p: FlinkParser, name: ObjectName, exists: bool, materialized: bool, action: str) -> Statement:
    if p.take("DISTRIBUTION"):
        kind = actions.AddDistribution if action == "ADD" else actions.ModifyDistribution
        return kind(name, exists, materialized, distribution=distribution(p))
    columns, constraints, watermark = placed_elements(p)
    change = actions.AddToTable if action == "ADD" else actions.ModifyTable
    return change(name, exists, materialized, columns, constraints, watermark)


def _drop(p: FlinkParser, name: ObjectName, exists: bool, materialized: bool) -> Statement:
    if p.take("PRIMARY"):
        p.expect("KEY")
        return actions.DropPrimaryKey(name, exists, materialized)
    if p.take("CONSTRAINT"):
        constraint = p.identifier("the name of a constraint").name
        return actions.DropConstraint(name, exists, materialized, constraint=constraint)
    if p.take("DISTRIBUTION"):
        return actions.DropDistribution(name, exists, materialized)
    if p.take("WATERMARK"):
        return actions.DropWatermark(name, exists, materialized)
    if p.at_symbol(TokenType.L_PAREN):
        columns = tuple(p.parenthesized(lambda: column_path(p)))
    else:
        columns = (column_path(p),)
    return actions.DropColumns(name, exists, materialized, columns=columns)


def _partition(p: FlinkParser) -> tuple[PartitionValue, ...]:
    p.expect("PARTITION")
    return partition(p)


def _add_partitions(p: FlinkParser, name: ObjectName, exists: bool) -> Statement:
    absent = if_not_exists(p)
    partitions, settings = [_partition(p)], [with_options(p)]
    while p.at("PARTITION"):
        partitions.append(_partition(p))
        settings.append(with_options(p))
    return actions.AddPartitions(
        name, exists, partitions=tuple(partitions), partition_options=tuple(settings), if_not_exists=absent
    )
