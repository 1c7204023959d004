"""Which operations keep time attributes."""

from __future__ import annotations

import pytest

from penstock.table.passes.recognition import real_type
from tests.unit.table.passes.shown import bound

_TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"


@pytest.mark.parametrize(
    ("query", "attributes"),
    [
        ("SELECT ts, ts AS x FROM t WHERE a > 1", ["ROWTIME", "ROWTIME"]),
        ("SELECT ts + INTERVAL '1' SECOND, CAST(ts AS TIMESTAMP(3)), FLOOR(ts TO HOUR) FROM t", ["", "", ""]),
        ("SELECT ts, MAX(ts) FROM t GROUP BY ts", ["", ""]),
        ("SELECT pt, PROCTIME() FROM p", ["PROCTIME", "PROCTIME"]),
        ("SELECT ts FROM t UNION ALL SELECT ts FROM t", ["ROWTIME"]),
        ("SELECT ts FROM t UNION ALL SELECT ts + INTERVAL '1' SECOND FROM t", [""]),
        ("SELECT ts FROM t UNION SELECT ts FROM t", [""]),
        (f"SELECT ts, window_start, window_time FROM {_TUMBLE}", ["ROWTIME", "", "ROWTIME"]),
        (
            f"SELECT window_start, window_time, COUNT(*) FROM {_TUMBLE} GROUP BY window_start, window_end, window_time",
            ["", "ROWTIME", ""],
        ),
        ("SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' DAY) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' DAY)", ["ROWTIME"]),
        ("SELECT ts, SUM(b) OVER (PARTITION BY a ORDER BY ts) FROM t", ["ROWTIME", ""]),
        ("SELECT t.ts FROM t JOIN u ON t.a = u.a", [""]),
        ("SELECT l.ts, r.ts FROM t AS l JOIN t AS r ON l.a = r.a AND l.ts <= r.ts", ["", ""]),
        (
            "SELECT l.ts, r.ts FROM t AS l JOIN t AS r ON l.a = r.a AND l.ts BETWEEN r.ts - INTERVAL '1' DAY AND r.ts",
            ["ROWTIME", "ROWTIME"],
        ),
        (
            f"SELECT l.ts FROM {_TUMBLE} AS l JOIN {_TUMBLE} AS r "
            "ON l.window_start = r.window_start AND l.window_end = r.window_end",
            ["ROWTIME"],
        ),
        ("SELECT ts FROM t ORDER BY ts", ["ROWTIME"]),
        (
            "SELECT ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY ts) AS n FROM t) WHERE n = 1",
            ["ROWTIME"],
        ),
    ],
)
def test_attributes(query: str, attributes: list[str]) -> None:
    assert [getattr(f.type, "attribute", "") for f in real_type(bound(query)).fields] == attributes
