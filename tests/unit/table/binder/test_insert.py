"""INSERT: targets, column lists, partitions and implicit casts as in Flink."""

from __future__ import annotations

import json
import pathlib

import pytest

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Literal
from penstock.table.binder.queries.implicit_casts import is_assignable
from penstock.table.binder.queries.lookup import BinderSettings
from penstock.table.relations import Calc
from penstock.types.logical.text import parse_type
from tests.unit.table.binder.memory import MemoryCatalog

_CASTS = json.loads((pathlib.Path(__file__).parent / "cases" / "insert.json").read_text())
_TABLES = (
    "CREATE TABLE sales (id INT, kind STRING, name STRING, qty INT, price DECIMAL(8, 2))",
    "CREATE TABLE bids (ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
    "CREATE TABLE o3 (a INT, b STRING, c DECIMAL(8, 2))",
    "CREATE TABLE strict (a INT NOT NULL, b STRING)",
    "CREATE TABLE op (a INT, b STRING, d STRING, h INT) PARTITIONED BY (d, h)",
    "CREATE TABLE oc (a INT, b AS a + 1, m STRING METADATA, v STRING METADATA VIRTUAL)",
    "CREATE TABLE times (t TIMESTAMP(3))",
    "CREATE TEMPORARY VIEW v AS SELECT id FROM sales",
)


@pytest.fixture
def catalog() -> MemoryCatalog:
    return MemoryCatalog(*_TABLES)


@pytest.mark.parametrize("source", _CASTS["types"])
def test_implicit_casts(source: str) -> None:
    taken = [t for t in _CASTS["types"] if is_assignable(parse_type(source), parse_type(t))]
    # Flink refuses INT as a value of a column INT NOT NULL only when a row is NULL.
    assert [t for t in taken if t != "INT NOT NULL"] == [t for t in _CASTS["assignable"][source] if t != "INT NOT NULL"]


def _columns(catalog: MemoryCatalog, statement: str) -> list[str]:
    sink = catalog.insert(statement)
    assert isinstance(sink.input, Calc)
    return [f"{f.name}={p}" for f, p in zip(sink.row_type.fields, sink.input.projections, strict=True)]


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("INSERT INTO o3 SELECT id, name, price FROM sales", ["a=id", "b=name", "c=price"]),
        ("INSERT INTO o3 SELECT id, name, qty FROM sales", ["a=id", "b=name", "c=CAST(qty)"]),
        ("INSERT INTO o3 (b, a) SELECT name, id FROM sales", ["a=id", "b=name", "c=None"]),
        (
            "INSERT INTO op PARTITION (d='x') SELECT id, name, qty FROM sales",
            ["a=id", "b=name", "d=CAST('x')", "h=qty"],
        ),
        ("INSERT INTO op PARTITION (h=1) (a, d) SELECT id, kind FROM sales", ["a=id", "b=None", "d=kind", "h=1"]),
        ("INSERT INTO oc SELECT id, name FROM sales", ["a=id", "m=name"]),
        ("INSERT INTO times SELECT ts FROM bids", ["t=ts"]),
    ],
)
def test_columns(catalog: MemoryCatalog, statement: str, columns: list[str]) -> None:
    assert _columns(catalog, statement) == columns


def test_partition_values_and_path(catalog: MemoryCatalog) -> None:
    sink = catalog.insert("INSERT INTO op PARTITION (d='x', h=1) SELECT id, name FROM sales")
    assert sink.partition == (("d", "x"), ("h", 1))
    assert sink.path == ("default_catalog", "default_database", "op")


def test_missing_columns_are_null(catalog: MemoryCatalog) -> None:
    sink = catalog.insert("INSERT INTO o3 (a) SELECT id FROM sales")
    assert isinstance(sink.input, Calc)
    assert sink.input.projections[1] == Literal(None, parse_type("STRING"))


def test_overwrite_needs_batch_mode(catalog: MemoryCatalog) -> None:
    statement = "INSERT OVERWRITE o3 SELECT id, name, price FROM sales"
    with pytest.raises(SqlValidationError, match="OVERWRITE"):
        catalog.insert(statement)
    assert MemoryCatalog(*_TABLES, settings=BinderSettings(streaming=False)).insert(statement).overwrite


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO o3 SELECT id, name FROM sales", "Different number of columns"),
        ("INSERT INTO o3 SELECT name, id, price FROM sales", "Incompatible types for sink column 'a' at position 1"),
        (
            "INSERT INTO o3 SELECT name, id, price FROM sales",
            "Query schema: [name: STRING, id: INT, price: DECIMAL(8, 2)]",
        ),
        ("INSERT INTO o3 SELECT name, id, price FROM sales", "Sink schema:  [a: INT, b: STRING, c: DECIMAL(8, 2)]"),
        ("INSERT INTO o3 (b, b) SELECT name, name FROM sales", "Target column 'b' is assigned more than once"),
        ("INSERT INTO o3 (b, aa) SELECT name, id FROM sales", "Unknown target column 'aa'. Did you mean 'a'?"),
        ("INSERT INTO o3 (a, b) SELECT id FROM sales", "Number of columns must match"),
        ("INSERT INTO strict (b) SELECT name FROM sales", "Column 'a' has no default value"),
        ("INSERT INTO op PARTITION (b='x') SELECT id, kind, qty FROM sales", "partition keys list [d, h]"),
        ("INSERT INTO op PARTITION (zz='x') SELECT id, kind, qty FROM sales", "Unknown target column 'zz'"),
        ("INSERT INTO sale SELECT 1", "Cannot find table 'sale'. Did you mean 'sales'?"),
        ("INSERT INTO v SELECT 1", "'v' is a view"),
        ("INSERT INTO o3 VALUES (1, 'a', NULL)", "Illegal use of 'NULL'"),
        ("INSERT INTO o3 VALUES (1, 'a', 1.5), (1, 'a')", "The rows of VALUES have 3 and 2 columns"),
    ],
)
def test_refused(catalog: MemoryCatalog, statement: str, message: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        catalog.insert(statement)
    assert message in str(raised.value)
