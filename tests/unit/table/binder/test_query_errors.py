"""Wrong queries are refused with what is wrong, where, and the nearest name."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.errors import SqlValidationError
from tests.unit.table.binder.memory import MemoryCatalog

_FILE = json.loads((pathlib.Path(__file__).parent / "cases" / "errors.json").read_text())


def _bind(catalog: MemoryCatalog, statement: str) -> None:
    if statement.startswith("INSERT"):
        catalog.insert(statement)
    else:
        catalog.query(statement)


@pytest.mark.parametrize("case", _FILE["cases"], ids=lambda c: c["id"])
def test_flink_refuses_it_too(case: dict[str, Any]) -> None:
    catalog = MemoryCatalog(*(_FILE["statements"][i] for i in case["setup"]))
    with pytest.raises(SqlValidationError) as raised:
        _bind(catalog, case["statement"])
    message = str(raised.value).lower()
    assert any(word.lower() in message for word in case.get("mention", [""]))
    assert raised.value.code == case.get("code", raised.value.code)
    assert raised.value.line >= 1
    assert "^" in message
    if "valid" in case:
        _bind(catalog, case["valid"])


@pytest.fixture
def catalog() -> MemoryCatalog:
    return MemoryCatalog(
        "CREATE TABLE orders (id INT, kind STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
        "CREATE TABLE plain (id INT, label STRING, `at` TIMESTAMP(3))",
        "CREATE TEMPORARY VIEW totals AS SELECT kind, SUM(price) AS total FROM orders GROUP BY kind",
    )


@pytest.mark.parametrize(
    ("query", "message", "place"),
    [
        ("SELECT id FROM ordres", "There is no table or view 'ordres'. Did you mean 'orders'?", (1, 16)),
        ("SELECT pice FROM orders", "Column 'pice' not found in any table. Did you mean 'price'?", (1, 8)),
        ("SELECT id,\n  UPER(kind) FROM orders", "There is no function UPER. Did you mean UPPER?", (2, 3)),
        ("SELECT o.nix FROM orders AS o", "Column 'o.nix' not found", (1, 10)),
        ("SELECT id, COUNT(*) FROM orders GROUP BY kind", "Expression 'id' is not being grouped", (1, 8)),
        ("SELECT kind FROM orders WHERE SUM(price) > 1", "illegal in WHERE", (1, 31)),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE plain, DESCRIPTOR(`at`), INTERVAL '1' DAY))",
            "requires the column 'at' to be a time attribute, but it is TIMESTAMP(3)",
            (1, 41),
        ),
        (
            "SELECT * FROM TABLE(TUMBLE((SELECT MAX(ts) AS m FROM orders GROUP BY kind), DESCRIPTOR(m), INTERVAL '1' DAY))",
            "requires the column 'm' to be a time attribute, but it is TIMESTAMP(3)",
            (1, 77),
        ),
        (
            "SELECT * FROM TABLE(TUMBEL(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' DAY))",
            "Did you mean TUMBLE?",
            (1, 21),
        ),
        ("SELECT SUM(price) OVER win FROM orders WINDOW wind AS (ORDER BY ts)", "Did you mean 'wind'?", (1, 24)),
        ("SELECT id FROM orders ORDER BY kind", "Sort on", (1, 23)),
        ("SELECT id FROM orders UNION SELECT id, kind FROM orders", "Column count mismatch", (1, 36)),
        ("SELECT id, kind FROM orders UNION SELECT 1, ARRAY[1] FROM orders", "Type mismatch in column 2", (1, 12)),
        ("SELECT CAST(id AS WRONG) FROM orders", "is not a type that tables support", (1, 19)),
        ("SELECT CAST(NULL AS ROW<a INT, a INT>) FROM orders", "has the field 'a' twice", (1, 21)),
        ("SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(nix), INTERVAL '1' DAY))", "Column 'nix'", (1, 53)),
        ("SELECT * FROM orders JOIN plain USING (nix)", "Column 'nix' of USING not found", (1, 40)),
        ("SELECT kind FROM orders /*+ OPTIONS('a') */", "The hint OPTIONS takes options", (1, 29)),
        ("SELECT kind FROM totals /*+ OPTIONS('a' = 'b') */", "'totals' is a view", (1, 18)),
        ("SELECT * FROM orders, UNNEST(id) AS t", "UNNEST needs an array, a map or a multiset", (1, 30)),
        ("WITH RECURSIVE t AS (SELECT id FROM t) SELECT * FROM t", "WITH RECURSIVE is not supported", (1, 16)),
    ],
)
def test_message_and_place(catalog: MemoryCatalog, query: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(SqlValidationError) as raised:
        catalog.query(query)
    assert message in str(raised.value)
    assert (raised.value.line, raised.value.column) == place
