"""SHOW, DESCRIBE, DROP and USE."""

from __future__ import annotations

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.parts import if_exists, object_name, partition, simple_name
from penstock.table.dialect.statements.catalog import UseCatalog, UseDatabase
from penstock.table.dialect.statements.drop import Drop
from penstock.table.dialect.statements.session import UseModules
from penstock.table.dialect.statements.show import Describe, LikeFilter, Show, ShowCreate
from penstock.table.dialect.statements.statement import ObjectName, Statement

# What can be listed: whether FROM or IN may follow, and the operators that filter.
_LISTS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "CATALOGS": (False, ("LIKE", "ILIKE")),
    "DATABASES": (True, ("LIKE", "ILIKE")),
    "FUNCTIONS": (True, ("LIKE", "ILIKE")),
    "PROCEDURES": (True, ("LIKE", "ILIKE")),
    "TABLES": (True, ("LIKE",)),
    "VIEWS": (True, ("LIKE",)),
    "MODELS": (True, ("LIKE",)),
    "CONNECTIONS": (True, ("LIKE",)),
}


def show(p: FlinkParser) -> Statement:
    p.expect("SHOW")
    if p.take("CREATE"):
        return _show_create(p)
    if p.take("CURRENT"):
        return Show(f"CURRENT {p.expect_one('CATALOG', 'DATABASE')}")
    if p.take("COLUMNS"):
        preposition = p.expect_one("FROM", "IN")
        return Show("COLUMNS", object_name(p, "the name of a table"), preposition, _like(p, ("LIKE",)))
    if p.take("PARTITIONS"):
        name = object_name(p, "the name of a table")
        return Show("PARTITIONS", name, partition=partition(p) if p.take("PARTITION") else ())
    if word := p.take_one("MODULES", "JARS", "JOBS"):
        return Show(word)
    if p.take("FULL"):
        p.expect("MODULES")
        return Show("FULL MODULES")
    if p.take("USER"):
        p.expect("FUNCTIONS")
        return _list(p, "USER FUNCTIONS", "FUNCTIONS")
    if p.take("MATERIALIZED"):
        p.expect("TABLES")
        return _list(p, "MATERIALIZED TABLES", "TABLES")
    word = p.expect_one(*_LISTS)
    return _list(p, word, word)


def describe(p: FlinkParser) -> Statement:
    p.expect_one("DESCRIBE", "DESC")
    if kind := p.take_one("CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION"):
        extended = p.take("EXTENDED")
        return Describe(kind, simple_name(p) if kind == "CATALOG" else object_name(p), extended)
    if p.take("JOB"):
        token = p.next_token()
        return Describe("JOB", ObjectName((p.one_string("the id of a job in single quotes"),), token.line, token.col))
    extended = p.take("EXTENDED")
    return Describe("TABLE", object_name(p, "the name of a table"), extended)


def drop(p: FlinkParser) -> Statement:
    p.expect("DROP")
    temporary = p.take("TEMPORARY")
    if not temporary and p.take("MATERIALIZED"):
        p.expect("TABLE")
        return _drop(p, "MATERIALIZED TABLE", False, False)
    if not temporary and (kind := p.take_one("CATALOG", "DATABASE")):
        return _drop(p, kind, False, False)
    if kind := p.take_one("TABLE", "VIEW", "MODEL"):
        return _drop(p, kind, temporary, False)
    system = p.take("SYSTEM")
    kind = p.expect_one(*(("FUNCTION", "CONNECTION") if temporary or not system else ("FUNCTION",)))
    return _drop(p, kind, temporary, system)


def use(p: FlinkParser) -> Statement:
    p.expect("USE")
    if p.take("MODULES"):
        return UseModules(tuple(name.name for name in p.comma_list(lambda: p.identifier("the name of a module"))))
    if p.take("CATALOG"):
        return UseCatalog(simple_name(p, "the name of a catalog"))
    return UseDatabase(object_name(p, "the name of a database"))


def _show_create(p: FlinkParser) -> Statement:
    or_alter = p.take("OR", "ALTER")
    if or_alter or p.at("MATERIALIZED"):
        p.expect("MATERIALIZED", "TABLE")
        return ShowCreate("MATERIALIZED TABLE", object_name(p), or_alter)
    kind = p.expect_one("TABLE", "VIEW", "CATALOG", "MODEL", "CONNECTION")
    return ShowCreate(kind, simple_name(p) if kind == "CATALOG" else object_name(p))


def _list(p: FlinkParser, what: str, plain: str) -> Show:
    has_source, operators = _LISTS[plain]
    preposition = p.take_one("FROM", "IN") if has_source else None
    source = None
    if preposition:
        source = simple_name(p, "the name of a catalog") if plain == "DATABASES" else object_name(p)
    return Show(what, source, preposition, _like(p, operators))


def _like(p: FlinkParser, operators: tuple[str, ...]) -> LikeFilter | None:
    if not p.at("NOT", *operators):
        return None
    negated = p.take("NOT")
    return LikeFilter(p.expect_one(*operators), p.one_string("a pattern in single quotes"), negated)


def _drop(p: FlinkParser, kind: str, temporary: bool, system: bool) -> Drop:
    exists = if_exists(p)
    name = object_name(p)
    cascade = kind == "DATABASE" and p.take_one("RESTRICT", "CASCADE") == "CASCADE"
    return Drop(kind, name, exists, temporary, system, cascade)
