"""Chooses the rule of a statement by its first word."""

from __future__ import annotations

from collections.abc import Callable

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules import alter, change, create, session, show
from penstock.table.dialect.rules.parts import query
from penstock.table.dialect.statements.statement import Statement

RULES: dict[str, Callable[[FlinkParser], Statement]] = {
    "ADD": session.add_jar,
    "ALTER": alter.alter,
    "ANALYZE": session.analyze_table,
    "BEGIN": change.begin,
    "CALL": session.call_procedure,
    "COMPILE": change.compile_plan,
    "CREATE": create.create,
    "DELETE": change.delete,
    "DESC": show.describe,
    "DESCRIBE": show.describe,
    "DROP": show.drop,
    "END": change.end,
    "EXECUTE": change.execute,
    "EXPLAIN": change.explain,
    "INSERT": change.insert,
    "LOAD": session.load_module,
    "REMOVE": session.remove_jar,
    "REPLACE": create.replace,
    "RESET": session.reset_option,
    "SET": session.set_option,
    "SHOW": show.show,
    "STOP": session.stop_job,
    "TRUNCATE": change.truncate,
    "UNLOAD": session.unload_module,
    "UPDATE": change.update,
    "UPSERT": change.insert,
    "USE": show.use,
}


def statement(p: FlinkParser) -> Statement:
    """Reads a statement up to its end."""
    word = p.take_ahead(*RULES)
    if word is not None:
        found = RULES[word](p)
    elif p.at_query():
        found = query(p)
    else:
        p.at("SELECT", "WITH", "VALUES", "TABLE")  # so that the error names these as well
        p.fail("a statement")
    p.end_of_statement()
    return found
