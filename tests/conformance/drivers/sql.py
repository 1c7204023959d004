"""A query over scripted tables. With one row per batch, the changelog must equal Flink's."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.connectors import Step
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.nodes import SinkNode
from penstock.table.connectors.interface import ChangelogMode
from penstock.table.environment.stream_environment import StreamTableEnvironment
from tests.conformance.case import Case, NotRunnableError
from tests.conformance.job import MAIN, Batch, BatchResult
from tests.conformance.scripted_tables import scripted_tables

_SINK = re.compile(r"^\s*insert\s+into\s+`?(\w+)`?\s", re.I)
_PRIMARY_KEY = re.compile(r"primary key\s*\((.*?)\)", re.IGNORECASE)
_BLANK = re.compile(r"(?<=^\d{4}-\d{2}-\d{2}) (?=\d{2}:\d{2}:\d{2})")
# Functions of Flink's tests that are written in Java, as SQL.
_REWRITTEN = {r"LTCNT\((\w+), CAST\('(\d+)' AS BIGINT\)\)": r"COUNT(CASE WHEN \1 > \2 THEN 1 END)"}
_NOT_YET = {"O.PROC_TIME AS C": "lookup joins", "LATERAL": "lateral joins"}


@dataclass
class SqlJob:
    """The job of a query. Each row is one batch."""

    case: Case
    sql: str
    sink: str
    batches: list[Batch]
    tables: list[str]
    modes: dict[str, ChangelogMode]
    operator: str | None = None
    sinks: list[str] = field(default_factory=lambda: [MAIN])

    def env(self, parallelism: int, until: int | None = None) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment()
        env.set_parallelism(parallelism)
        table_env = StreamTableEnvironment.create(env)
        table_env.get_config().set("table.local-time-zone", "UTC")
        for key, value in (self.case.fields.get("config") or {}).items():
            table_env.get_config().set(key, str(value))
        schema = self.case.fields["schema"]
        scripts = {name: self._steps(number, until) for number, name in enumerate(self.tables)}
        retracts = any(entry["kind"] == "-U" for entry in self.case.expected)
        with scripted_tables(scripts, self.modes, retracts):
            for name, table in schema["sources"].items():
                table_env.execute_sql(_create(name, table["columns"]))
            columns = schema.get("sink") or []
            if not columns or not all(" " in column for column in columns):  # some cases have names without types
                columns = _result_columns(table_env, self.case.fields["sql"])
            table_env.execute_sql(_create(self.sink, columns))
            statements = table_env.create_statement_set()
            statements.add_insert_sql(self.sql)
            statements.attach_as_datastream()
        [sink] = [n for n in env.nodes() if isinstance(n, SinkNode)]
        self.sinks = [sink.uid]
        return env

    def _steps(self, source: int, until: int | None) -> list[Step]:
        return [Step({"0": b.items.get(source, [])}, clock=b.clock, end=b.end) for b in self.batches[:until]]


def job(case: Case) -> Any:
    if "sql" not in case.fields:
        raise NotRunnableError("a case of the kind sql needs a text of SQL")
    sql = case.fields["sql"]
    for pattern, text in _REWRITTEN.items():
        sql = re.sub(pattern, text, sql)
    for word, needed in _NOT_YET.items():
        if word in sql.upper():
            raise NotRunnableError(f"the query needs {needed}, not built yet")
    tables = list(case.fields["schema"]["sources"])
    found = _SINK.match(sql)
    sink = found[1] if found else "sink_of_the_case"
    if not found:
        sql = f"INSERT INTO {sink} {sql}"
    modes = {name: _mode(case, name) for name in tables}
    return SqlJob(case, sql, sink, _batches(case, tables), tables, modes)


def _result_columns(table_env: StreamTableEnvironment, query: str) -> list[str]:
    """The columns of a query, for a case without a sink."""
    fields = table_env.sql_query(query).relation.row_type.fields
    return [f"`c{i}` {str(f.type).replace(' *ROWTIME*', '')}" for i, f in enumerate(fields)]


def _create(name: str, columns: list[str]) -> str:
    return f"CREATE TABLE `{name}` ({', '.join(columns)}) WITH ('connector' = 'scripted')"


def _mode(case: Case, table: str) -> ChangelogMode:
    kinds = {entry.get("kind") for entry in case.input if entry.get("table") == table}
    if kinds <= {"+I"}:
        return "append"
    return "retract" if "-U" in kinds else "upsert"


def _batches(case: Case, tables: list[str]) -> list[Batch]:
    batches: list[Batch] = []
    restored = False
    for number, entry in enumerate(case.input, 1):
        if entry.get("checkpoint_restore"):
            restored = True
            continue
        if entry.get("end_of_input"):
            batch = Batch(end=True)
        elif "processing_time" in entry:
            batch = Batch(clock=entry["processing_time"])
        else:
            batch = Batch({tables.index(entry["table"]): [(entry["kind"], entry["row"])]})
        batch.inputs, batch.restored = number, restored
        restored = False
        batches.append(batch)
    return batches


def merged(job: SqlJob, seed: int) -> SqlJob:
    """Returns the job with some consecutive batches joined, at random."""
    chance = random.Random(f"{job.case.name} {seed}")
    batches: list[Batch] = []
    for batch in job.batches:
        last = batches[-1] if batches else None
        if last is None or batch.end or batch.restored or batch.clock is not None or chance.random() < 0.3:
            batches.append(Batch({k: list(v) for k, v in batch.items.items()}, batch.clock, batch.end, batch.inputs))
            continue
        for source, items in batch.items.items():
            last.items.setdefault(source, []).extend(items)
        last.inputs = batch.inputs
    return replace(job, batches=batches)


def _with_t(row: Any) -> Any:
    """Timestamps of some cases are written with a blank; results have a T, as in ISO 8601."""
    return [_BLANK.sub("T", value) if isinstance(value, str) else value for value in row]


def check_final(case: Case, results: list[BatchResult]) -> None:
    """Compares the final tables only: with several rows per batch, intermediate updates may be missing."""
    found = [
        (change[0], _with_t(change[1]), "") for batch in results for out in batch.outputs.values() for change, _ in out
    ]
    wanted = [(e["kind"], _with_t(e["row"]), "") for e in case.expected]
    key = _upsert_key(case)
    assert _final(found, key) == _final(wanted, key)


def _upsert_key(case: Case) -> list[int]:
    """The positions of the primary key of the sink, if the case expects updates without the rows before them."""
    kinds = {e["kind"] for e in case.expected}
    if "+U" not in kinds or "-U" in kinds:
        return []
    columns: list[str] = case.fields["schema"].get("sink", [])
    keys = [m[1].replace("`", "").split(",") for c in columns if (m := _PRIMARY_KEY.search(c))]
    names = [c.split()[0].strip("`") for c in columns if not _PRIMARY_KEY.search(c)]
    return [names.index(name.strip()) for name in keys[0]] if keys else []


def check(case: Case, results: list[BatchResult]) -> None:
    """Compares the changes: in order where the case requires it, else by phase; and the final tables."""
    restore = next((n for n, e in enumerate(case.input, 1) if e.get("checkpoint_restore")), None)
    found: list[tuple[str, Any, str]] = []
    for batch in results:
        phase = "before_restore" if restore is None or batch.inputs < restore else "after_restore"
        for outputs in batch.outputs.values():
            found += [(change[0], _with_t(change[1]), phase) for change, _ in outputs]
    wanted = [(e["kind"], _with_t(e["row"]), e.get("phase", "before_restore")) for e in case.expected]
    if restore is None:
        found = [(kind, row, "before_restore") for kind, row, _ in found]
    if case.order in ("exact", "as listed"):
        assert found == wanted
        return
    assert _sorted(found) == _sorted(wanted)
    assert _final(found) == _final(wanted)


def _sorted(changes: list[tuple[str, Any, str]]) -> list[str]:
    return sorted(json.dumps(change) for change in changes)


def _final(changes: list[tuple[str, Any, str]], key: list[int] | None = None) -> Counter[str]:
    if key:
        rows: dict[str, str] = {}
        for kind, row, _ in changes:
            found = json.dumps([row[k] for k in key])
            if kind == "-D":
                rows.pop(found, None)
            else:
                rows[found] = json.dumps(row)
        return Counter(rows.values())
    table: Counter[str] = Counter()
    for kind, row, _ in changes:
        table[json.dumps(row)] += 1 if kind in ("+I", "+U") else -1
    return +table
