"""STATE_TTL of joins: each side has its own, as in Flink."""

from __future__ import annotations

import pytest

from penstock.table.passes import apply_passes
from penstock.table.relations import Join, Relation
from tests.unit.table.binder.memory import MemoryCatalog

_TABLES = tuple(f"CREATE TABLE {name} (id INT, v STRING) WITH ('connector' = 'datagen')" for name in "abc")


def joins(relation: Relation) -> list[Join]:
    found = [relation] if isinstance(relation, Join) else []
    return found + [join for child in relation.inputs() for join in joins(child)]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("'a' = '1h', 'b' = '2d'", [[], [("STATE_TTL", {"LEFT": "1h", "RIGHT": "2d"})]]),
        ("'a' = '1h', 'x' = '2d'", [[("STATE_TTL", {"RIGHT": "2d"})], [("STATE_TTL", {"LEFT": "1h"})]]),
    ],
)
def test_a_hint_names_tables_of_a_join(hint: str, expected: list[list[object]]) -> None:
    query = f"SELECT /*+ STATE_TTL({hint}) */ a.v FROM a JOIN b ON a.id = b.id JOIN c AS x ON b.id = x.id"
    relation = apply_passes(MemoryCatalog(*_TABLES).query(query))
    assert [list(join.hints) for join in joins(relation)] == expected
