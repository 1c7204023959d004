"""SET, RESET, modules, jars, STOP JOB, CALL and ANALYZE TABLE."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.nodes import Call
from penstock.table.dialect.rules.parts import object_name, partition, with_options
from penstock.table.dialect.statements.session import (
    AddJar,
    AnalyzeTable,
    CallProcedure,
    LoadModule,
    RemoveJar,
    ResetOption,
    SetOption,
    StopJob,
    UnloadModule,
)


def set_option(p: FlinkParser) -> SetOption:
    p.expect("SET")
    if p.at_end():
        return SetOption()
    token = p.next_token()
    key = p.string("a key in single quotes")
    p.expect_symbol(TokenType.EQ)
    return SetOption(key, p.string("a value in single quotes"), token.line, token.col)


def reset_option(p: FlinkParser) -> ResetOption:
    p.expect("RESET")
    if p.at_end():
        return ResetOption()
    token = p.next_token()
    return ResetOption(p.string("a key in single quotes"), token.line, token.col)


def load_module(p: FlinkParser) -> LoadModule:
    p.expect("LOAD", "MODULE")
    name = p.identifier("the name of a module").name
    return LoadModule(name, with_options(p))


def unload_module(p: FlinkParser) -> UnloadModule:
    p.expect("UNLOAD", "MODULE")
    return UnloadModule(p.identifier("the name of a module").name)


def add_jar(p: FlinkParser) -> AddJar:
    p.expect("ADD", "JAR")
    return AddJar(p.one_string("a path in single quotes"))


def remove_jar(p: FlinkParser) -> RemoveJar:
    p.expect("REMOVE", "JAR")
    return RemoveJar(p.one_string("a path in single quotes"))


def stop_job(p: FlinkParser) -> StopJob:
    p.expect("STOP", "JOB")
    job = p.one_string("the id of a job in single quotes")
    savepoint = p.take("WITH", "SAVEPOINT")
    drain = savepoint and p.take("WITH", "DRAIN")
    return StopJob(job, savepoint, drain)


def call_procedure(p: FlinkParser) -> CallProcedure:
    p.expect("CALL")
    token = p.next_token()
    name = object_name(p, "the name of a procedure")
    call = p.node(Call(this=name.name, path=list(name.parts[:-1])), token)
    p.arguments(call)
    return CallProcedure(name, call)


def analyze_table(p: FlinkParser) -> AnalyzeTable:
    p.expect("ANALYZE", "TABLE")
    table = object_name(p, "the name of a table")
    values = partition(p, values_required=False) if p.take("PARTITION") else ()
    p.expect("COMPUTE", "STATISTICS")
    if not p.take("FOR"):
        return AnalyzeTable(table, values)
    if p.take("ALL"):
        p.expect("COLUMNS")
        return AnalyzeTable(table, values, all_columns=True)
    p.expect("COLUMNS")
    columns = p.comma_list(lambda: p.identifier("the name of a column"))
    return AnalyzeTable(table, values, tuple(column.name for column in columns))
