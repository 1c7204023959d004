"""How an answer of a SQL query is written down, so that Flink's and Penstock's answers can be compared.

Used by `scripts/flink_query_oracle.py`, which asks real Flink, and by the tests, which ask Penstock. Both offer PyFlink's
Table API, so this module takes an environment of either. A value is the text that Flink's tableau prints for its type,
None for NULL; FLOAT and DOUBLE are compared as numbers.
"""

from __future__ import annotations

import collections
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
CONFIG = {"parallelism.default": "1", "table.local-time-zone": "UTC"}
NESTED = ("ARRAY", "MAP", "MULTISET", "ROW")


def prepare(env: Any, case: dict[str, Any], tables: dict[str, Any], folder: Path) -> None:
    """Write the files of a case, set its configuration and run its setup statements."""
    for key, value in {**CONFIG, **case.get("config", {})}.items():
        env.get_config().set(key, value)
    parts = [tables[name] for name in case.get("tables", [])] + [case]
    for part in parts:
        for name, content in part.get("files", {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    for part in parts:
        for statement in part.get("setup", []):
            env.execute_sql(statement.replace("${dir}", str(folder)))


def collected(env: Any, statement: str) -> list[tuple[str, list[Any]]]:
    """The rows of a statement in order, each with its kind."""
    with env.execute_sql(statement).collect() as rows:
        return [(KINDS[row.get_row_kind().name], list(row)) for row in rows]


def described(env: Any, query: str) -> list[list[str]]:
    """Column names and types of a query; a type that cannot be null ends in NOT NULL."""
    env.create_temporary_view("case_view", env.sql_query(query))
    rows = collected(env, "DESCRIBE case_view")
    env.drop_temporary_view("case_view")
    return [[row[0], row[1] + ("" if row[2] in (True, "true", "TRUE") else " NOT NULL")] for _, row in rows]


def answer(env: Any, query: str) -> tuple[list[list[str]], list[list[Any]]]:
    """Columns and changelog of a query."""
    columns = described(env, query)
    types = [kind for _, kind in columns]
    changes = collected(env, query)
    return columns, [[kind, [printed(v, t) for v, t in zip(row, types, strict=True)]] for kind, row in changes]


def returned(env: Any, statement: str) -> list[list[str | None]]:
    """The rows of SHOW, DESCRIBE or a small SELECT as texts."""
    return [[None if v is None else printed(v, "STRING") for v in row] for _, row in collected(env, statement)]


def attempted(env: Any, statement: str) -> str | None:
    """None if a statement runs to its end, else the text of its error."""
    try:
        result = env.execute_sql(statement)
        if statement.startswith(("INSERT", "EXECUTE")):
            result.wait()
        else:
            with result.collect() as rows:
                collections.deque(rows, maxlen=0)
    except Exception as error:
        return str(error) or type(error).__name__
    return None


def folded(changelog: list[list[Any]]) -> list[list[Any]]:
    """The table that is left when all changes are applied; a change that takes away a missing row is an error."""
    table: collections.Counter[str] = collections.Counter()
    for kind, row in changelog:
        key = json.dumps(row)
        table[key] += 1 if kind in ("+I", "+U") else -1
        if table[key] < 0:
            raise AssertionError(f"{kind} of a row that is not there: {row}")
    return [json.loads(key) for key in sorted(table.elements())]


def plain(type_: str) -> str:
    return re.sub(r" (NOT NULL|\*ROWTIME\*|\*PROCTIME\*)", "", type_) if not type_.startswith(NESTED) else type_


def parts_of(text: str, opening: str = "<(", closing: str = ">)") -> list[str]:
    """The parts of a text between commas that are outside of brackets."""
    parts, depth, start = [], 0, 0
    for n, c in enumerate(text):
        depth += (c in opening) - (c in closing)
        if c == "," and depth == 0:
            parts.append(text[start:n].strip())
            start = n + 1
    return [*parts, text[start:].strip()]


def clock(value: Any, digits: int) -> str:
    text = str(value.strftime("%H:%M:%S"))
    return text + (("." + f"{value.microsecond:06d}000"[:digits]) if digits else "")


def printed(value: Any, type_: str) -> str | None:
    """The text that Flink prints for a Python value of a type."""
    if value is None:
        return None
    type_ = re.sub(r" NOT NULL$", "", plain(type_))
    if type_.startswith(NESTED):
        return nested(value, type_)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes | bytearray | memoryview):
        return "x'" + bytes(value).hex() + "'"
    if type_.startswith("DECIMAL"):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value)
    digits = int((re.search(r"\((\d+)\)", type_) or [0, 0])[1])
    if type_.startswith("TIMESTAMP"):
        return str(value.strftime("%Y-%m-%d ")).rjust(11, "0") + clock(value, digits)
    return clock(value, digits) if type_.startswith("TIME") else str(value)


def nested(value: Any, type_: str) -> str:
    inner = type_[type_.find("<") + 1 : -1]

    def text(item: Any, item_type: str) -> str:
        return "NULL" if item is None else str(printed(item, item_type))

    if type_.startswith("ARRAY"):
        return "[" + ", ".join(text(v, inner) for v in value) + "]"
    if type_.startswith("MULTISET"):
        return "{" + ", ".join(sorted(f"{text(k, inner)}={n}" for k, n in value.items())) + "}"
    if type_.startswith("MAP"):
        key, item = parts_of(inner)
        return "{" + ", ".join(sorted(f"{text(k, key)}={text(v, item)}" for k, v in value.items())) + "}"
    types = [re.sub(r"^(`[^`]*`|\S+) ", "", field) for field in parts_of(inner)]
    return "(" + ", ".join(text(v, t) for v, t in zip(value, types, strict=True)) + ")"


def same(wanted: Any, got: Any, type_: str) -> bool:
    if wanted is None or got is None:
        return wanted is got
    kind = plain(type_)
    if kind.startswith(("MAP", "MULTISET")):
        return sorted(parts_of(wanted[1:-1], "[({", "])}")) == sorted(parts_of(got[1:-1], "[({", "])}"))
    if kind not in ("FLOAT", "DOUBLE"):
        return bool(wanted == got)
    a, b = float(wanted), float(got)
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return a == b or (math.isnan(a) and math.isnan(b))
    if kind == "FLOAT":
        a, b = (struct.unpack("f", struct.pack("f", x))[0] for x in (a, b))
        return bool(abs(a - b) <= 2 * 2.0**-23 * abs(a))
    return abs(a - b) <= 2 * math.ulp(a)


def table_difference(wanted: list[list[Any]], got: list[list[Any]], types: list[str]) -> str | None:
    """What is missing from a table and what it has too many; None if both are the same multiset of rows."""
    rest, missing = list(got), []
    for row in wanted:
        found = (n for n, r in enumerate(rest) if all(map(same, row, r, types)))
        match = next(found, None)
        if match is None:
            missing.append(row)
        else:
            rest.pop(match)
    return f"missing {missing}, too many {rest}" if missing or rest else None


def tidy(statement: str, rows: list[list[str | None]]) -> list[list[str | None]]:
    """Rows whose runs of blanks are one blank; the order counts for columns only."""
    rows = [[v if v is None else " ".join(v.split()) for v in row] for row in rows]
    return rows if re.match(r"DESC|SHOW COLUMNS", statement) else sorted(rows, key=json.dumps)


def reason(text: str) -> str:
    """The cause of an error in one line: Java's chains end in it, Python's texts are it."""
    causes = re.findall(r"(?:Caused by: |^: )([\w.$]*(?:Exception|Error)[^\n]*(?:\n(?!\s+at )[^\n]*)?)", text, re.M)
    line = causes[-1] if causes else text.strip().split("\n")[0]
    return re.sub(r"\s+", " ", line)[:240]
