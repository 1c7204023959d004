"""CREATE and REPLACE."""

from __future__ import annotations

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.columns import column_list
from penstock.table.dialect.rules.create_table import create_materialized_table, create_table, replace_table
from penstock.table.dialect.rules.parts import (
    column_names,
    comment,
    if_not_exists,
    object_name,
    query,
    simple_name,
    with_options,
)
from penstock.table.dialect.statements.catalog import CreateCatalog, CreateDatabase
from penstock.table.dialect.statements.function import CreateFunction, FunctionResource
from penstock.table.dialect.statements.model import CreateConnection, CreateModel
from penstock.table.dialect.statements.statement import Statement
from penstock.table.dialect.statements.view import CreateView

LANGUAGES = ("JAVA", "SCALA", "SQL", "PYTHON")


def create(p: FlinkParser) -> Statement:
    p.expect("CREATE")
    replace = p.take("OR", "REPLACE")
    temporary = p.take("TEMPORARY")
    or_alter = not replace and not temporary and p.at_sequence("OR", "ALTER")
    if or_alter:
        p.take("OR", "ALTER")
        if not p.at("MATERIALIZED"):
            p.fail()
    if not replace and not temporary and p.at("MATERIALIZED"):
        return create_materialized_table(p, or_alter)
    if p.at("TABLE"):
        return create_table(p, replace, temporary)
    if p.take("VIEW"):
        return _view(p, replace, temporary)
    if not temporary and p.take("CATALOG"):
        return _catalog(p)
    if not temporary and p.take("DATABASE"):
        return _database(p)
    if p.take("MODEL"):
        return _model(p, temporary)
    system = temporary and p.take("SYSTEM")
    if p.take("FUNCTION"):
        return _function(p, temporary, system)
    if p.take("CONNECTION"):
        return _connection(p, temporary, system)
    return p.fail()


def replace(p: FlinkParser) -> Statement:
    p.expect("REPLACE")
    return replace_table(p, p.take("TEMPORARY"))


def _view(p: FlinkParser, replace: bool, temporary: bool) -> CreateView:
    absent = if_not_exists(p)
    name = object_name(p, "the name of a view")
    columns = () if p.at("COMMENT", "AS") else column_names(p)
    text = comment(p)
    p.expect("AS")
    return CreateView(name, query(p), columns, text, temporary, absent, replace)


def _catalog(p: FlinkParser) -> CreateCatalog:
    absent = if_not_exists(p)
    name = simple_name(p, "the name of a catalog")
    text = comment(p)
    return CreateCatalog(name, with_options(p), text, absent)


def _database(p: FlinkParser) -> CreateDatabase:
    absent = if_not_exists(p)
    name = object_name(p, "the name of a database")
    text = comment(p)
    return CreateDatabase(name, with_options(p), text, absent)


def _model(p: FlinkParser, temporary: bool) -> CreateModel:
    absent = if_not_exists(p)
    name = object_name(p, "the name of a model")
    inputs = column_list(p) if p.take("INPUT") else ()
    outputs = column_list(p) if p.take("OUTPUT") else ()
    text = comment(p)
    settings = with_options(p)
    return CreateModel(name, inputs, outputs, text, settings, query(p) if p.take("AS") else None, temporary, absent)


def _connection(p: FlinkParser, temporary: bool, system: bool) -> CreateConnection:
    absent = if_not_exists(p)
    name = object_name(p, "the name of a connection")
    text = comment(p)
    if not p.at("WITH"):
        p.fail()
    return CreateConnection(name, with_options(p), text, temporary, system, absent)


def _function(p: FlinkParser, temporary: bool, system: bool) -> CreateFunction:
    absent = if_not_exists(p)
    name = simple_name(p, "the name of a function") if system else object_name(p, "the name of a function")
    p.expect("AS")
    implementation = p.one_string()
    language = p.expect_one(*LANGUAGES) if p.take("LANGUAGE") else None
    resources: tuple[FunctionResource, ...] = ()
    if language not in ("SQL", "PYTHON") and p.take("USING"):
        resources = tuple(p.comma_list(lambda: FunctionResource(p.expect_one("JAR", "ARTIFACT"), p.one_string())))
    return CreateFunction(name, implementation, language, resources, with_options(p), temporary, system, absent)
