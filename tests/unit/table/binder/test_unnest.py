"""The columns of UNNEST are those that Flink derives."""

from __future__ import annotations

import pytest

from penstock.errors import SqlValidationError
from penstock.types.logical.text import summary
from tests.unit.table.binder.memory import MemoryCatalog

_TABLE = (
    "CREATE TABLE c (id INT, a ARRAY<STRING>, an ARRAY<INT NOT NULL>, m MAP<STRING, INT>, h ARRAY<ROW<d STRING, n INT>>, "
    "ms MULTISET<STRING>) WITH ('connector' = 'x')"
)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT id, t.* FROM c, UNNEST(a) AS t", ["id INT", "t STRING"]),
        ("SELECT id, `EXPR$0` FROM c, UNNEST(a)", ["id INT", "EXPR$0 STRING"]),
        ("SELECT id, t.* FROM c, UNNEST(an) AS t", ["id INT", "t INT NOT NULL"]),
        ("SELECT id, t.* FROM c LEFT JOIN UNNEST(an) AS t ON TRUE", ["id INT", "t INT"]),
        ("SELECT id, t.* FROM c CROSS JOIN UNNEST(m) AS t", ["id INT", "KEY STRING", "VALUE INT"]),
        ("SELECT id, t.* FROM c CROSS JOIN UNNEST(h) AS t", ["id INT", "d STRING", "n INT"]),
        ("SELECT id, t.* FROM c CROSS JOIN UNNEST(ms) AS t", ["id INT", "t STRING"]),
        (
            "SELECT id, t.* FROM c CROSS JOIN UNNEST(a) WITH ORDINALITY AS t",
            ["id INT", "t STRING", "ORDINALITY INT NOT NULL"],
        ),
        ("SELECT id, x, n FROM c CROSS JOIN UNNEST(a) WITH ORDINALITY AS t(x, n)", None),
        ("SELECT * FROM UNNEST(ARRAY[1, 2]) AS t(x)", ["x INT NOT NULL"]),
        ("SELECT i, x FROM (VALUES (1)) AS v(i), UNNEST(ARRAY[1, i]) AS t(x) WHERE x > i", None),
        ("SELECT id, x FROM c JOIN UNNEST(a) AS t(x) ON x = 'b'", ["id INT", "x STRING"]),
    ],
)
def test_columns(query: str, columns: list[str] | None) -> None:
    fields = MemoryCatalog(_TABLE).query(query).row_type.fields
    assert columns is None or [f"{f.name} {summary(f.type)}" for f in fields] == columns


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM c CROSS JOIN UNNEST(h) AS t(d)", "names 1 columns, and UNNEST has 2 columns: d, n"),
        ("SELECT * FROM c FULL JOIN UNNEST(a) AS t(x) ON TRUE", "CROSS JOIN"),
        ("SELECT * FROM c CROSS JOIN UNNEST(id) AS t(x)", "its argument is INT"),
        ("SELECT * FROM c CROSS JOIN UNNEST(a, a) AS t(x)", "needs one argument"),
    ],
)
def test_errors(query: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        MemoryCatalog(_TABLE).query(query)
