"""Records what real Flink answers for scalar expressions: the golden files of the function tests.

    python scripts/flink_oracle.py FILE.json ...     (in a virtual environment with apache-flink==2.3.0, its bin first on PATH)

A file is {"tables": {name: query}, "cases": [{"id", "expr", "table"?, "zone"?}]}. The script adds "type" (as DESCRIBE shows
it) and "value" (the text of CAST(... AS STRING) where collect() loses the type), or "error" with the phase and the message.
It rewrites the file in place. No test needs Flink: tests read the recorded answers only.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

os.environ["TZ"] = "UTC"
time.tzset()

CHUNK = 40
TEXTUAL = ("TIMESTAMP", "INTERVAL", "ARRAY", "MAP", "ROW", "MULTISET", "DATE", "TIME", "VARIANT", "BITMAP")


def environment(zone: str) -> Any:
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found,unused-ignore]

    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", zone)
    return env


def select(cases: list[dict[str, Any]], parts: list[str]) -> str:
    table = cases[0].get("table")
    return "SELECT " + ", ".join(f"{p} AS c{n}" for n, p in enumerate(parts)) + (f" FROM {table}" if table else "")


def types_of(env: Any, cases: list[dict[str, Any]]) -> list[Any]:
    """The types as DESCRIBE shows them, an exception where a case is refused."""
    try:
        env.create_temporary_view("oracle_view", env.sql_query(select(cases, [c["expr"] for c in cases])))
        try:
            with env.execute_sql("DESCRIBE oracle_view").collect() as rows:
                return [row[1] + ("" if row[2] in (True, "true", "TRUE") else " NOT NULL") for row in rows]
        finally:
            env.drop_temporary_view("oracle_view")
    except Exception as error:
        if len(cases) == 1:
            return [error]
        middle = len(cases) // 2
        return types_of(env, cases[:middle]) + types_of(env, cases[middle:])


def values_of(env: Any, cases: list[dict[str, Any]]) -> list[Any]:
    try:
        parts = [f"CAST({c['expr']} AS STRING)" if c["type"].startswith(TEXTUAL) else c["expr"] for c in cases]
        with env.execute_sql(select(cases, parts)).collect() as rows:
            (row,) = list(rows)
            return [printed(value, case["type"]) for value, case in zip(row, cases, strict=True)]
    except Exception as error:
        if len(cases) == 1:
            return [error]
        middle = len(cases) // 2
        return values_of(env, cases[:middle]) + values_of(env, cases[middle:])


def printed(value: Any, type_: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes | bytearray):
        return "x'" + bytes(value).hex() + "'"
    return (
        format(value, "f") if type_.startswith("DECIMAL") else repr(value) if isinstance(value, float) else str(value)
    )


def cause(error: Exception) -> str:
    text = str(error).strip()
    causes = re.findall(r"(?:Caused by: |^: )([\w.$]*(?:Exception|Error)[^\n]*)", text, re.M)
    return re.sub(r"\s+", " ", causes[-1] if causes else text.split("\n")[0])[:200]


def record(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    groups: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for case in data["cases"]:
        groups.setdefault((case.get("zone", "UTC"), case.get("table")), []).append(case)
    environments: dict[str, Any] = {}
    for (zone, _), group in groups.items():
        if zone not in environments:
            environments[zone] = environment(zone)
            for name, query in data.get("tables", {}).items():
                environments[zone].execute_sql(f"CREATE TEMPORARY VIEW {name} AS {query}")
        env = environments[zone]
        for start in range(0, len(group), CHUNK):
            chunk = group[start : start + CHUNK]
            for case, type_ in zip(chunk, types_of(env, chunk), strict=True):
                refused = isinstance(type_, Exception)
                case.update({"type": None if refused else type_, "value": None, "error": refused})
                if refused:
                    case.update({"phase": "plan", "message": cause(type_)})
            typed = [case for case in chunk if not case["error"]]
            for case, value in zip(typed, values_of(env, typed) if typed else [], strict=True):
                if isinstance(value, Exception):
                    case.update({"type": None, "error": True, "phase": "run", "message": cause(value)})
                else:
                    case["value"] = value
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in data["cases"])
    tables = json.dumps(data.get("tables", {}), ensure_ascii=False, indent=1)
    path.write_text(f'{{"tables": {tables},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        record(Path(name))
