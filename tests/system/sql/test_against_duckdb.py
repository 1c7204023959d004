"""Random queries over random changelogs, cut into random batches with restores between them, equal DuckDB's final tables."""

from __future__ import annotations

import decimal
import itertools
import json
import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import duckdb
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from penstock.connectors import Step
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.nodes import SinkNode
from penstock.table.environment.stream_environment import StreamTableEnvironment
from penstock.testing import Harness
from tests.conformance.scripted_tables import scripted_tables
from tests.system.sql.random_queries import TABLES, join_queries, queries

Row = tuple[Any, ...]
Change = tuple[str, Row]
Restore = Literal["", "checkpoint", "savepoint"]  # what happens after a batch
Script = tuple[dict[str, list[Step]], dict[str, list[Row]], list[Restore]]  # batches, final rows, restores
_FAILED = json.loads((Path(__file__).parent / "cases" / "random_queries.json").read_text(encoding="utf-8"))
_TEXTS = st.sampled_from(["x", "y", "z", None])
_SMALL = st.one_of(st.none(), st.integers(0, 4))
_ROWS = {
    "t": st.tuples(_TEXTS, _SMALL, _SMALL, st.sampled_from([None, "0.50", "1.25", "3.00"])),
    "u": st.tuples(_TEXTS, _SMALL, _SMALL),
}


@st.composite
def changelogs(draw: st.DrawFn, table: str) -> tuple[list[Change], list[Row]]:
    """Changes of a table, and the rows that are left."""
    changes: list[Change] = []
    rows: list[Row] = []
    for _ in range(draw(st.integers(0, 12))):
        action = draw(st.integers(0, 4)) if rows else 0
        if action < 3:
            rows.append(draw(_ROWS[table]))
            changes.append(("+I", rows[-1]))
            continue
        at = draw(st.integers(0, len(rows) - 1))
        old = rows.pop(at)
        if action == 3:
            changes.append(("-D", old))
        else:
            rows.append(draw(_ROWS[table]))
            changes += [("-U", old), ("+U", rows[-1])]
    return changes, rows


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """The batches of both tables, their final rows, and after which batches the job is restored from what."""
    changes, final = {}, {}
    for table in TABLES:
        changes[table], final[table] = draw(changelogs(table))
    batches = draw(st.integers(1, 4))
    cuts = {t: sorted(draw(st.integers(0, len(c))) for _ in range(batches - 1)) for t, c in changes.items()}
    restores: list[Restore] = draw(
        st.lists(st.sampled_from(["", "", "checkpoint", "savepoint"]), min_size=batches, max_size=batches)
    )
    return steps_of(changes, cuts), final, restores


def steps_of(changes: dict[str, list[Change]], cuts: dict[str, list[int]]) -> dict[str, list[Step]]:
    """The batches of each table, and a last one that ends the job."""
    steps: dict[str, list[Step]] = {}
    for table, found in changes.items():
        bounds = [0, *cuts[table], len(found)]
        steps[table] = [Step({"0": list(found[a:b])}) for a, b in itertools.pairwise(bounds)]
        steps[table].append(Step({"0": []}, end=True))
    return steps


def final_table(query: str, script: dict[str, list[Step]], restores: list[Restore]) -> Counter[Row]:
    """What is left when the changes of a query are applied."""
    env = StreamExecutionEnvironment()
    table_env = StreamTableEnvironment.create(env)
    modes: Any = dict.fromkeys(TABLES, "retract")
    with scripted_tables(script, modes, retracts=True):
        for name, columns in TABLES.items():
            table_env.execute_sql(f"CREATE TABLE {name} ({', '.join(columns)}) WITH ('connector' = 'scripted')")
        fields = table_env.sql_query(query).relation.row_type.fields
        columns = [f"c{i} {f.type.with_nullable(True)}" for i, f in enumerate(fields)]
        table_env.execute_sql(f"CREATE TABLE answers ({', '.join(columns)}) WITH ('connector' = 'scripted')")
        statements = table_env.create_statement_set()
        statements.add_insert_sql(f"INSERT INTO answers {query}")
        statements.attach_as_datastream()
    [sink] = [n for n in env.nodes() if isinstance(n, SinkNode)]
    changes: list[Any] = []
    harness = Harness(env, parallelism=2, max_parallelism=8)
    with tempfile.TemporaryDirectory() as folder:
        for number, restore in enumerate([*restores, ""]):
            harness.run(max_batches=1)
            if restore == "checkpoint":
                harness.restore(harness.snapshot())
            elif restore == "savepoint":
                changes += harness.sink(sink.uid).take()
                path = harness.savepoint(f"{folder}/{number}")
                harness.close()
                harness = Harness(env, parallelism=1 + number % 3, max_parallelism=8)
                harness.restore_savepoint(path)
        changes += harness.sink(sink.uid).take()
    harness.close()
    found: Counter[Row] = Counter()
    for (kind, values), _ in changes:
        row = tuple(map(_comparable, values))
        found[row] += 1 if kind in ("+I", "+U") else -1
        assert found[row] >= 0, f"{kind} of a row that is not there: {row}"
    return +found


def duckdb_answer(query: str, final: dict[str, list[Row]]) -> Counter[Row]:
    """DuckDB's answer on the final tables."""
    with duckdb.connect() as connection:
        for name, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            for row in final[name]:
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        return Counter(tuple(map(_comparable, row)) for row in connection.execute(query).fetchall())


def _comparable(value: Any) -> Any:
    """Numbers by value, whatever their type."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        try:
            return round(decimal.Decimal(value), 6)
        except decimal.InvalidOperation:
            return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return round(decimal.Decimal(str(value)), 6)


def check(query: str, script: Script) -> None:
    """Compares a query. Its description has the form of the cases in cases/random_queries.json."""
    steps, _, restores = script
    described = {t: [step.splits["0"] for step in found[:-1]] for t, found in steps.items()}
    note(json.dumps({"id": "", "query": query, **described, "restores": restores}))
    compare(query, script)


def compare(query: str, script: Script) -> None:
    steps, final, restores = script
    assert final_table(query, steps, restores) == duckdb_answer(query, final)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(query=queries(), script=scripts())
def test_queries_equal_the_answers_of_duckdb(query: str, script: Any) -> None:
    check(query, script)


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(query=join_queries(below=1, above=1), script=scripts())
def test_joins_and_set_operations_equal_the_answers_of_duckdb(query: str, script: Any) -> None:
    check(query, script)


@pytest.mark.long
@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(query=queries(depth=5), script=scripts())
def test_many_queries_equal_the_answers_of_duckdb(query: str, script: Any) -> None:
    check(query, script)


@pytest.mark.long
@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(query=join_queries(), script=scripts())
def test_many_joins_and_set_operations_equal_the_answers_of_duckdb(query: str, script: Any) -> None:
    check(query, script)


@pytest.mark.parametrize("case", _FAILED, ids=[case["id"] for case in _FAILED])
def test_queries_that_once_differed_from_duckdb(case: dict[str, Any]) -> None:
    changes = {table: [(kind, tuple(row)) for batch in case[table] for kind, row in batch] for table in TABLES}
    cuts = {table: list(itertools.accumulate(map(len, case[table])))[:-1] for table in TABLES}
    final: dict[str, list[Row]] = {}
    for table, found in changes.items():
        rows: Counter[Row] = Counter()
        for kind, row in found:
            rows[row] += 1 if kind in ("+I", "+U") else -1
        final[table] = list((+rows).elements())
    compare(case["query"], (steps_of(changes, cuts), final, case["restores"]))
