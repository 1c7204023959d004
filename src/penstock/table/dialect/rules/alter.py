"""ALTER of views, functions, catalogs, databases, models and connections."""

from __future__ import annotations

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.alter_table import alter_materialized_table, alter_table
from penstock.table.dialect.rules.create import LANGUAGES
from penstock.table.dialect.rules.parts import if_exists, object_name, option_keys, options, query, simple_name
from penstock.table.dialect.statements.catalog import (
    CommentCatalog,
    ResetCatalogOptions,
    SetCatalogOptions,
    SetDatabaseOptions,
)
from penstock.table.dialect.statements.function import AlterFunction
from penstock.table.dialect.statements.model import AlterOptions
from penstock.table.dialect.statements.statement import Statement
from penstock.table.dialect.statements.view import ChangeView, RenameView


def alter(p: FlinkParser) -> Statement:
    p.expect("ALTER")
    if p.take("TABLE"):
        return alter_table(p)
    if p.take("MATERIALIZED"):
        p.expect("TABLE")
        return alter_materialized_table(p)
    if p.take("VIEW"):
        return _view(p)
    if p.take("CATALOG"):
        return _catalog(p)
    if p.take("DATABASE"):
        name = object_name(p, "the name of a database")
        p.expect("SET")
        return SetDatabaseOptions(name, options(p))
    if kind := p.take_one("MODEL", "CONNECTION"):
        return _model_or_connection(p, kind)
    temporary = p.take("TEMPORARY")
    system = temporary and p.take("SYSTEM")
    p.expect("FUNCTION")
    return _function(p, temporary, system)


def _view(p: FlinkParser) -> Statement:
    name = object_name(p, "the name of a view")
    if p.take("RENAME"):
        p.expect("TO")
        return RenameView(name, object_name(p, "the name of a view"))
    p.expect("AS")
    return ChangeView(name, query(p))


def _catalog(p: FlinkParser) -> Statement:
    name = simple_name(p, "the name of a catalog")
    action = p.expect_one("SET", "RESET", "COMMENT")
    if action == "SET":
        return SetCatalogOptions(name, options(p))
    if action == "RESET":
        return ResetCatalogOptions(name, option_keys(p))
    return CommentCatalog(name, p.one_string())


def _model_or_connection(p: FlinkParser, kind: str) -> AlterOptions:
    exists = if_exists(p)
    name = object_name(p)
    action = p.expect_one("RENAME", "SET", "RESET")
    if action == "RENAME":
        p.expect("TO")
        return AlterOptions(kind, name, exists, new_name=object_name(p))
    if action == "SET":
        return AlterOptions(kind, name, exists, options=options(p))
    return AlterOptions(kind, name, exists, keys=option_keys(p))


def _function(p: FlinkParser, temporary: bool, system: bool) -> AlterFunction:
    exists = if_exists(p)
    name = object_name(p, "the name of a function")
    p.expect("AS")
    implementation = p.one_string()
    language = p.expect_one(*LANGUAGES) if p.take("LANGUAGE") else None
    return AlterFunction(name, implementation, language, temporary, system, exists)
