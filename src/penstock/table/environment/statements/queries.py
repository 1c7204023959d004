"""Queries, INSERT, statement sets and EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.table.catalog.errors import refusal
from penstock.table.catalog.table import CatalogView
from penstock.table.dialect.statements.create_table import CreateTableAs
from penstock.table.dialect.statements.insert import Insert, StatementSet
from penstock.table.dialect.statements.plan import Execute, ExecutePlan, Explain
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import Statement
from penstock.table.environment.answer import Answer, job_answer, text_answer
from penstock.table.environment.session import Session
from penstock.table.relations import Relation, Sink

_DML_SYNC = "table.dml-sync"  # INSERT waits for the end of its job


def run_query(session: Session, statement: Query, text: str) -> Answer:
    """Starts a query."""
    return collect(session, session.bind(statement.query, text))


def collect(session: Session, relation: Relation) -> Answer:
    """Starts a bound query."""
    rows = session.executor.collect(relation)
    client = getattr(rows, "job_client", None)
    return Answer(relation.row_type, rows, is_query=True, streaming=session.streaming, job_client=client)


def run_insert(session: Session, statement: Insert, text: str) -> Answer:
    """Starts the job of one INSERT."""
    return run_inserts(session, [insert_relation(session, statement, text)])


def run_statement_set(session: Session, statement: StatementSet, text: str) -> Answer:
    """Starts one job for several INSERT statements."""
    return run_inserts(session, [insert_relation(session, insert, text) for insert in statement.inserts])


def run_inserts(session: Session, sinks: Sequence[Sink]) -> Answer:
    """Starts one job that writes to all sinks."""
    paths = [sink.path for sink in sinks]
    client = session.executor.insert(sinks, session.job_name(paths))
    if (session.config.get(_DML_SYNC) or "").lower() == "true":
        client.get_job_execution_result().result()
    return job_answer(_distinct_names(paths), client)


def _distinct_names(paths: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The columns of the answer have the names of the tables. A table that is written twice gets a number."""
    found: list[tuple[str, ...]] = []
    counts: dict[tuple[str, ...], int] = {}
    for path in map(tuple, paths):
        counts[path] = counts.get(path, 0) + 1
        several = list(map(tuple, paths)).count(path) > 1
        found.append((*path[:-1], f"{path[-1]}_{counts[path]}") if several else path)
    return found


def insert_relation(session: Session, statement: Insert, text: str) -> Sink:
    """Binds an INSERT."""
    from penstock.table.binder.queries.insert import bind_insert  # large, and not needed by DDL

    found = session.catalogs.get(session.catalogs.path(statement.table.parts))
    if isinstance(found, CatalogView):
        raise refusal(
            "SQL_TABLE",
            f"'{statement.table}' is a view. INSERT writes to tables only.",
            statement.table.line,
            statement.table.column,
        )
    if found.refresh is not None:
        raise refusal(
            "SQL_TABLE",
            f"'{statement.table}' is a materialized table. Only its own job writes to it. Use ALTER MATERIALIZED TABLE ... AS.",
            statement.table.line,
            statement.table.column,
        )
    sink = bind_insert(statement, session, session.binder_settings(), text)
    assert isinstance(sink, Sink)
    return sink


def run_execute(session: Session, statement: Execute, text: str) -> Answer:
    """Runs EXECUTE with a query, an INSERT or a statement set."""
    inner = statement.statement
    if isinstance(inner, Query):
        return run_query(session, inner, text)
    if isinstance(inner, StatementSet):
        return run_statement_set(session, inner, text)
    assert isinstance(inner, Insert)
    return run_insert(session, inner, text)


def run_explain(session: Session, statement: Explain, text: str) -> Answer:
    """Runs EXPLAIN."""
    return text_answer(explained(session, statement.statement, text, statement.details), "text")


def explained(session: Session, statement: Statement, text: str, details: tuple[str, ...] = ()) -> str:
    """Returns the plan of a statement as text."""
    inner: Any = statement
    while isinstance(inner, Execute | Explain):
        inner = inner.statement
    if isinstance(inner, Query):
        relations: list[Relation] = [session.bind(inner.query, text)]
    elif isinstance(inner, Insert):
        relations = [insert_relation(session, inner, text)]
    elif isinstance(inner, StatementSet):
        relations = [insert_relation(session, insert, text) for insert in inner.inserts]
    elif isinstance(inner, CreateTableAs):
        relations = [session.bind(inner.query.query, text)]
    elif isinstance(inner, ExecutePlan):
        from penstock.table.environment.statements.plans import read_plan_file  # which uses this module

        relations = [*read_plan_file(session, Path(inner.file))]
    else:
        raise refusal("SQL_EXPLAIN", "EXPLAIN takes a query, an INSERT, a statement set or CREATE TABLE AS.")
    return session.executor.explain(relations, details)
