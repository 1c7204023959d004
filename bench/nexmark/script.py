"""Reads the SQL of a query. Uses only the standard library, because the environments of both systems import it."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

HERE = Path(__file__).parent
BLACKHOLE = "'connector' = 'blackhole'"
FILES = """'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'sink.rolling-policy.rollover-interval' = '1 min',
  'sink.rolling-policy.check-interval' = '1 min'"""


def statements(query: str, order: dict[str, Any]) -> list[str]:
    """Returns the statements of a query. The last one is the INSERT."""
    values = {
        "topic": order["topic"],
        "bootstrap": order["bootstrap"],
        "side": order["side"],
        "sink": BLACKHOLE,
        "files": FILES.format(path=order["files"]),
    }
    text = "".join((HERE / name).read_text() for name in ("tables.sql", f"{query}.sql"))
    lines = [line for line in Template(text).substitute(values).splitlines() if not line.startswith("--")]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def select_of(insert: str) -> str:
    """Returns the query of an INSERT."""
    return insert.removeprefix("INSERT INTO sink\n")
