"""Texts, types and values of expressions are those that PyFlink 2.3 gave for the same Python code, in recorded.json.

PyFlink cannot return some types to Python, so that their values were recorded as text.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from pathlib import Path
from typing import Any

import pytest

from penstock.row import Row
from penstock.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from penstock.types.logical.text import summary
from tests.unit.table.expressions.names import built

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = RECORDED["values"]
TEXTS: list[dict[str, Any]] = [*CASES, *RECORDED["texts"]]

# Types of SQL, which Flink's Table API declares otherwise than its planner: it does not say that a result can be NULL, or
# fails for the difference when the query runs.
OTHER_TYPES = {
    "col('s').ascii": "INT",
    "lit(65).chr": "STRING",
    "lit('http://user@example.com:80/p/q?x=1&y=2#f').parse_url('HOST')": "STRING",
    "lit('http://user@example.com:80/p/q?x=1&y=2#f').parse_url('QUERY', 'y')": "STRING",
    "lit('a=1,b=2').str_to_map()": "MAP<STRING, STRING>",
    "lit('a:1;b:2').str_to_map(';', ':')": "MAP<STRING, STRING>",
    "to_date('2024-02-29')": "DATE",
    "to_date('29.02.2024', 'dd.MM.yyyy')": "DATE",
    "to_timestamp('2024-02-29 12:30:01')": "TIMESTAMP(3)",
    "to_timestamp('29.02.2024 12', 'dd.MM.yyyy HH')": "TIMESTAMP(3)",
    "date_format('2024-02-29 12:30:01', 'dd.MM')": "STRING",
    "from_unixtime(1)": "STRING",
    "from_unixtime(1, 'yyyy')": "STRING",
    "unix_timestamp('2015-07-24 10:00:00')": "BIGINT NOT NULL",
    "unix_timestamp('2015/07/24', 'yyyy/MM/dd')": "BIGINT NOT NULL",
    "array(7).element": "INT NOT NULL",
}


def recorded_form(value: Any) -> Any:
    """Returns a value as the file has it."""
    match value:
        case datetime.datetime():
            return {"datetime": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case datetime.time():
            return {"time": value.isoformat()}
        case decimal.Decimal():
            return {"decimal": str(value)}
        case bytes():
            return {"bytes": value.hex()}
        case float():
            return {"float": repr(value)}
        case Row() | list() | tuple():
            return [recorded_form(v) for v in value]
        case dict():
            return {"map": sorted(([recorded_form(k), recorded_form(v)] for k, v in value.items()), key=str)}
    return value


def same(found: Any, expected: Any) -> bool:
    """Compares values. The last digit of a double may differ, because Java computes sines and the like in its own way."""
    if isinstance(expected, dict) and "float" in expected and isinstance(found, dict) and "float" in found:
        return math.isclose(float(found["float"]), float(expected["float"]), rel_tol=1e-15)
    return bool(found == expected)


@pytest.fixture(scope="module")
def table() -> Table:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("table.local-time-zone", "UTC")
    return environment.sql_query(RECORDED["table"])


@pytest.mark.parametrize("case", TEXTS, ids=[case["expression"] for case in TEXTS])
def test_texts(case: dict[str, Any]) -> None:
    assert str(built(case["expression"])) == case["text"]


def test_types(table: Table) -> None:
    found = {case["expression"]: _type(table, case["expression"]) for case in CASES}
    assert found == {c["expression"]: OTHER_TYPES.get(c["expression"], c["type"]) for c in CASES}


def _type(table: Table, source: str) -> str:
    return summary(table.select(built(source).alias("x")).relation.row_type.fields[0].type)


def test_values(table: Table) -> None:
    columns = []
    for number, case in enumerate(CASES):
        expression = built(case["expression"])
        columns.append((expression if "values" in case else expression.cast(DataTypes.STRING())).alias(f"x{number}"))
    rows = list(table.select(*columns).execute().collect())
    wrong = {}
    for number, case in enumerate(CASES):
        found = [recorded_form(row[number]) for row in rows]
        expected = case.get("values") or case["as_string"]
        if not all(same(f, e) for f, e in zip(found, expected, strict=True)):
            wrong[case["expression"]] = (found, expected)
    assert not wrong
