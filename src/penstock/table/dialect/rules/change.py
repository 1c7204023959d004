"""INSERT, DELETE, UPDATE, TRUNCATE, statement sets, EXPLAIN, EXECUTE and COMPILE PLAN."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.create import create, replace
from penstock.table.dialect.rules.parts import column_path, if_not_exists, object_name, partition, query
from penstock.table.dialect.statements.create_table import CreateTableAs
from penstock.table.dialect.statements.insert import (
    BeginStatementSet,
    Delete,
    EndStatementSet,
    Insert,
    StatementSet,
    TruncateTable,
    Update,
)
from penstock.table.dialect.statements.plan import CompilePlan, Execute, ExecutePlan, Explain
from penstock.table.dialect.statements.statement import Statement

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


def insert(p: FlinkParser) -> Insert:
    upsert = p.expect_one("INSERT", "UPSERT") == "UPSERT"
    overwrite = not upsert and p.take("OVERWRITE")
    if not overwrite:
        p.expect("INTO")
    table = object_name(p, "the name of a table")
    hints = tuple(p.hints())
    values = partition(p) if p.take("PARTITION") else ()
    columns: tuple[tuple[str, ...], ...] = ()
    if p.at_symbol(TokenType.L_PAREN) and not p.at_query():
        columns = tuple(p.parenthesized(lambda: column_path(p)))
    source = query(p)
    conflict = None
    if p.take("ON"):
        p.expect("CONFLICT", "DO")
        conflict = p.expect_one("ERROR", "NOTHING", "DEDUPLICATE")
    return Insert(table, source, columns, values, hints, overwrite, upsert, conflict)


def delete(p: FlinkParser) -> Delete:
    p.expect("DELETE", "FROM")
    table = object_name(p, "the name of a table")
    hints = tuple(p.hints())
    alias = _alias(p)
    return Delete(table, p.read_expression() if p.take("WHERE") else None, alias, hints)


def update(p: FlinkParser) -> Update:
    p.expect("UPDATE")
    table = object_name(p, "the name of a table")
    hints = tuple(p.hints())
    alias = _alias(p)
    p.expect("SET")
    assignments = tuple(p.comma_list(lambda: _assignment(p)))
    return Update(table, assignments, p.read_expression() if p.take("WHERE") else None, alias, hints)


def truncate(p: FlinkParser) -> TruncateTable:
    p.expect("TRUNCATE", "TABLE")
    return TruncateTable(object_name(p, "the name of a table"))


def begin(p: FlinkParser) -> BeginStatementSet:
    p.expect("BEGIN", "STATEMENT", "SET")
    return BeginStatementSet()


def end(p: FlinkParser) -> EndStatementSet:
    p.expect("END")
    return EndStatementSet()


def statement_set(p: FlinkParser) -> StatementSet:
    p.expect("STATEMENT", "SET", "BEGIN")
    inserts: list[Insert] = []
    while not inserts or not p.at("END"):
        if not p.at("INSERT", "UPSERT"):
            p.fail()
        inserts.append(insert(p))
        p.expect_symbol(TokenType.SEMICOLON)
    p.expect("END")
    return StatementSet(tuple(inserts))


def explain(p: FlinkParser) -> Explain:
    p.expect("EXPLAIN")
    details: list[str] = []
    if p.at("PLAN") and p.word_ahead(1, "FOR"):
        p.take("PLAN", "FOR")
    elif p.at(*_DETAILS):
        details = p.comma_list(lambda: p.expect_one(*_DETAILS))
        if len(set(details)) < len(details):
            p.fail("each detail once")
    if p.at_string():
        return Explain(ExecutePlan(p.string()), tuple(details))
    if p.at("CREATE"):
        token = p.next_token()
        created = create(p)
        if not isinstance(created, CreateTableAs):
            p.fail("CREATE TABLE ... AS query, INSERT or a query", token)
        return Explain(created, tuple(details))
    if p.at("REPLACE"):
        return Explain(replace(p), tuple(details))
    if p.at("EXECUTE"):
        return Explain(execute(p), tuple(details))
    return Explain(_job(p, queries=True), tuple(details))


def execute(p: FlinkParser) -> Statement:
    p.expect("EXECUTE")
    if p.take("PLAN"):
        return ExecutePlan(p.string())
    return Execute(_job(p, queries=True))


def compile_plan(p: FlinkParser) -> CompilePlan:
    p.expect("COMPILE")
    both = p.take("AND")
    if both:
        p.expect("EXECUTE")
    p.expect("PLAN")
    file = p.string()
    absent = not both and if_not_exists(p)
    p.expect("FOR")
    job = _job(p, queries=False)
    assert isinstance(job, Insert | StatementSet)
    return CompilePlan(file, job, absent, both)


def _job(p: FlinkParser, queries: bool) -> Statement:
    """Reads INSERT, a statement set or, if `queries`, a query."""
    if p.at("STATEMENT"):
        return statement_set(p)
    if p.at("INSERT", "UPSERT"):
        return insert(p)
    if not queries:
        p.fail()
    return query(p)


def _alias(p: FlinkParser) -> str | None:
    return p.identifier("an alias").name if p.take("AS") or p.at_identifier() else None


def _assignment(p: FlinkParser) -> tuple[str, exp.Expr]:
    name = p.identifier("the name of a column").name
    p.expect_symbol(TokenType.EQ)
    return name, p.read_expression()
