"""Tables of Python values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from penstock.errors import ElementError, PlanError
from penstock.row import Row
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.data_types import RowType
from penstock.table.environment.elements import values_of


class Point(NamedTuple):
    x: int
    y: float


class Person:
    def __init__(self, name: str, age: int) -> None:
        self.name = name
        self.age = age


def env() -> TableEnvironment:
    settings = EnvironmentSettings.new_instance().with_configuration({"execution.engine": "local"})
    return TableEnvironment.create(settings.build())


def columns(elements: list[Any], schema: Any = None) -> list[str]:
    row_type = env().from_elements(elements, schema).get_resolved_schema()
    pairs = zip(row_type.get_column_names(), row_type.get_column_data_types(), strict=True)
    return [f"{name} {data_type}" for name, data_type in pairs]


@pytest.mark.parametrize(
    ("elements", "schema", "expected"),
    [
        ([(1, "a")], None, ["_1 BIGINT", "_2 STRING"]),
        ([(1, "a")], ["id"], ["id BIGINT", "_2 STRING"]),
        ([(None, 1.5), (True, None)], ["a", "b"], ["a BOOLEAN", "b DOUBLE"]),
        ([Point(1, 2.0)], None, ["x BIGINT", "y DOUBLE"]),
        ([Row(b=1, a=b"x")], None, ["b BIGINT", "a BYTES"]),
        ([{"b": Decimal(1), "a": datetime.date(2026, 1, 1)}], None, ["a DATE", "b DECIMAL(38, 18)"]),
        ([Person("Ada", 36)], None, ["age BIGINT", "name STRING"]),
        ([(datetime.datetime(2026, 1, 1), datetime.time(1))], None, ["_1 TIMESTAMP_LTZ(6)", "_2 TIME(0)"]),
        ([([], {}), ([None, "a"], {"k": 1})], None, ["_1 ARRAY<STRING>", "_2 MAP<STRING NOT NULL, BIGINT>"]),
        ([((1, None),), ((2, "b"),)], None, ["_1 ROW<`_1` BIGINT, `_2` STRING>"]),
        ([1, 2], DataTypes.INT(), ["value INT"]),
        ([], RowType().add("a", DataTypes.INT()).add("b", DataTypes.STRING()), ["a INT", "b STRING"]),
    ],
)
def test_columns(elements: list[Any], schema: Any, expected: list[str]) -> None:
    assert columns(elements, schema) == expected


def test_values_of_all_types() -> None:
    names = list("abcdefghijklmnop")
    types = [
        DataTypes.TINYINT(),
        DataTypes.FLOAT(),
        DataTypes.BOOLEAN(),
        DataTypes.STRING(),
        DataTypes.BYTES(),
        DataTypes.DECIMAL(6, 2),
        DataTypes.DATE(),
        DataTypes.TIME(3),
        DataTypes.TIMESTAMP(3),
        DataTypes.TIMESTAMP_LTZ(6),
        DataTypes.ARRAY(DataTypes.DATE()),
        DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
        DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())]),
        DataTypes.BIGINT(),
    ]
    schema = DataTypes.ROW([DataTypes.FIELD(n, t) for n, t in zip(names, types, strict=False)])
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
    values = [
        7,
        1.5,
        True,
        "text",
        bytearray(b"\x01"),
        Decimal("1.005"),
        datetime.date(1969, 12, 31),
        datetime.time(1, 2, 3, 4000),
        moment,
        moment.replace(tzinfo=datetime.UTC),
        [datetime.date(2026, 1, 1), None],
        {"k": 1},
        Row(y="b", x=1),
        None,
    ]
    table_env = env()
    table_env.get_config().set_local_timezone("UTC")
    [row] = list(table_env.from_elements([values], schema).execute().collect())
    assert list(row)[:4] == values[:4]
    assert list(row)[4:9] == [b"\x01", Decimal("1.01"), values[6], values[7], moment.replace(microsecond=678000)]
    assert list(row)[10:12] == values[10:12]
    assert (row[12]["x"], row[12]["y"], row[13]) == (1, "b", None)
    assert row[9].replace(tzinfo=None) == moment


def test_a_table_is_part_of_a_query() -> None:
    table_env = env()
    table = table_env.from_elements([(1, "a"), (2, "b"), (3, "a")], ["n", "kind"])
    rows = table_env.sql_query(f"SELECT n + 1, kind FROM {table} WHERE kind = 'a'").execute().collect()
    assert sorted(tuple(row) for row in rows) == [(2, "a"), (4, "a")]
    assert str(table) == str(table)


@pytest.mark.parametrize(
    ("elements", "schema", "words"),
    [
        ([(1,), ("a",)], None, "BIGINT and STRING"),
        ([1], None, "is no row"),
        ([(300,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TINYINT())]), "Field a: 300 does not fit TINYINT"),
        ([(True,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), r"True \(bool\) does not fit INT"),
        ([(None,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT(False))]), "None does not fit INT NOT NULL"),
        ([(1, 2)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), "2 values do not fit 1 fields"),
        ([(Decimal("NaN"),)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.DECIMAL(3, 1))]), "NaN does not fit"),
        ([(1,), ("a",)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), "Element 1 does not fit the schema"),
    ],
)
def test_elements_that_do_not_fit(elements: list[Any], schema: Any, words: str) -> None:
    with pytest.raises(ElementError, match=words):
        values_of(elements, schema)


def test_a_value_of_another_class_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        values_of([("a",)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))


@pytest.mark.parametrize(("elements", "schema"), [([], None), ([(None,)], ["a"]), ([(1,)], 5), ([([],)], None)])
def test_schemas_that_are_not_known(elements: list[Any], schema: Any) -> None:
    with pytest.raises(PlanError, match="schema"):
        values_of(elements, schema)
