"""Methods of tables beyond the recorded programs: errors, frames, pipelines, subqueries and names."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from penstock.errors import PenstockError, SqlValidationError, UnsupportedOperation
from penstock.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    Table,
    TableDescriptor,
    TableEnvironment,
)
from penstock.table.expressions import col, lit, range_, row, row_interval, with_columns
from penstock.table.expressions.windows import Tumble


def _env(batch: bool = False) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    env = TableEnvironment.create(settings)
    env.get_config().set("execution.engine", "local").set_local_timezone("UTC")
    return env


@pytest.fixture
def env() -> TableEnvironment:
    return _env()


@pytest.fixture
def orders(env: TableEnvironment) -> Table:
    return env.from_elements([("ann", 3), ("bob", 5), ("ann", 7)], ["name", "price"])


def _rows(table: Table) -> list[tuple[Any, ...]]:
    with table.execute().collect() as rows:
        return sorted((tuple(r) for r in rows), key=repr)


# -- the same tree as SQL


@pytest.mark.parametrize(
    ("method", "sql"),
    [
        (lambda t: t.filter(col("price") > 4), "SELECT * FROM {} WHERE price > 4"),
        (
            lambda t: t.group_by(col("name")).select(col("name"), col("price").sum.alias("s")),
            "SELECT name, SUM(price) AS s FROM {} GROUP BY name",
        ),
        (lambda t: t.select(col("name")).distinct(), "SELECT DISTINCT name FROM {}"),
        (lambda t: t.union_all(t), "SELECT * FROM {0} UNION ALL SELECT * FROM {0}"),
        (lambda t: t.minus(t), "SELECT * FROM {0} EXCEPT SELECT * FROM {0}"),
        (
            lambda t: t.order_by(col("price").desc).fetch(2),
            "SELECT * FROM {} ORDER BY price DESC NULLS FIRST LIMIT 2",
        ),
    ],
)
def test_a_method_makes_the_plan_of_sql(env: TableEnvironment, orders: Table, method: Any, sql: str) -> None:
    assert method(orders).explain() == env.sql_query(sql.format(orders)).explain()


# -- errors


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda t: t.select(col("prise")), "Column 'prise' not found.*Did you mean 'price'"),
        (lambda t: t.select(col("price"), (col("price") + 1).alias("price")), "Ambiguous column name: price"),
        (lambda t: t.drop_columns(col("prise")), "no column 'prise'.*Did you mean 'price'"),
        (lambda t: t.rename_columns(col("price") + 1), "col\\('a'\\).alias\\('b'\\)"),
        (lambda t: t.alias("*"), "can not accept"),
        (lambda t: t.add_columns(col("price").sum), "takes no aggregate functions"),
        (lambda t: t.join(t, col("name") == col("name")), "ambiguous names: \\[name, price\\]"),
        (lambda t: t.select(with_columns(range_("price", "name"))), "before its start"),
        (lambda t: t.select(with_columns(range_(1, 9))), "no column 9"),
        (lambda t: t.offset(-1), "from 0 on"),
        (lambda t: t.order_by(col("price")).offset(1).offset(2), "OFFSET is already defined"),
        (lambda t: t.select(col("w").start), "windowed tables"),
    ],
)
def test_wrong_calls_are_refused(orders: Table, program: Any, words: str) -> None:
    with pytest.raises(SqlValidationError, match=words) as caught:
        program(orders)
    assert "line 1" not in str(caught.value), "an expression of Python has no place in a text"


def test_texts_are_no_expressions(orders: Table) -> None:
    with pytest.raises(TypeError, match="col\\('a'\\)"):
        orders.select("name")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a Table"):
        orders.join("name")  # type: ignore[arg-type]


def test_tables_of_two_environments_cannot_be_joined(orders: Table) -> None:
    other = _env().from_elements([(1,)], ["x"])
    with pytest.raises(SqlValidationError, match="same TableEnvironment"):
        orders.union_all(other)


def test_an_unknown_attribute_names_the_columns(orders: Table) -> None:
    assert str(orders.price) == "price"
    with pytest.raises(AttributeError, match=r"no column 'prize'.*\[name, price\]"):
        _ = orders.prize
    assert not hasattr(orders, "__len__")


def test_an_order_on_a_stream_needs_a_limit_when_it_runs(orders: Table) -> None:
    ordered = orders.order_by(col("price"))
    with pytest.raises(PenstockError, match="SQL_SORT"):
        ordered.execute()
    assert _rows(ordered.select(col("price")).fetch(1)) == [(3,)]


def test_windows_of_rows_are_refused(env: TableEnvironment) -> None:
    table = env.sql_query("SELECT 1 AS v, PROCTIME() AS p")
    window = Tumble.over(row_interval(2)).on(col("p")).alias("w")
    with pytest.raises(UnsupportedOperation, match="number of rows"):
        table.window(window).group_by(col("w"))


# -- frames


def test_frames_become_tables_and_back(env: TableEnvironment) -> None:
    frame = pd.DataFrame(
        {
            "i": [1, 2, 3],
            "s": ["x", None, "z"],
            "t": pd.to_datetime(["2024-01-01 00:00:01", "2024-01-02 00:00:00", None]),
            "d": [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 3)],
            "l": [[1, 2], [], None],
            "b": [True, False, True],
        }
    )
    table = env.from_pandas(frame)
    types = [str(t) for t in table.get_schema().get_field_data_types()]
    assert types == ["BIGINT", "STRING", "TIMESTAMP(9)", "DATE", "ARRAY<BIGINT>", "BOOLEAN"]
    back = table.to_pandas()
    assert back["i"].tolist() == [1, 2, 3]
    assert back["s"].tolist() == ["x", None, "z"]
    assert back["t"][0] == pd.Timestamp("2024-01-01 00:00:01")
    assert back["d"][0] == datetime.date(2024, 1, 1)
    assert [None if v is None else list(v) for v in back["l"]] == [[1, 2], [], None]
    assert back["b"].tolist() == [True, False, True]


def test_frames_take_a_schema(env: TableEnvironment) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]})
    assert env.from_pandas(frame, ["x", "y"]).get_schema().get_field_names() == ["x", "y"]
    typed = env.from_pandas(frame, [DataTypes.INT(), DataTypes.FLOAT()])
    assert [str(t) for t in typed.get_schema().get_field_data_types()] == ["INT", "FLOAT"]
    both = env.from_pandas(
        frame, DataTypes.ROW([DataTypes.FIELD("n", DataTypes.STRING()), DataTypes.FIELD("m", DataTypes.DOUBLE())])
    )
    assert _rows(both.select(col("n"))) == [("1",), ("2",)]
    with pytest.raises(PenstockError, match="columns"):
        env.from_pandas(frame, ["x"])
    with pytest.raises(TypeError, match="DataFrame"):
        env.from_pandas([1])


def test_to_pandas_returns_what_is_left_of_all_changes(orders: Table) -> None:
    counts = orders.group_by(col("name")).select(col("name"), lit(1).count.alias("n"))
    again = counts.group_by(col("n")).select(col("n"), col("name").count.alias("names"))
    assert sorted(again.to_pandas().itertuples(index=False, name=None)) == [(1, 1), (2, 1)]
    empty = orders.filter(col("price") > 99).to_pandas()
    assert list(empty.columns) == ["name", "price"]
    assert len(empty) == 0


def test_local_timestamps_are_in_the_zone_of_the_session(env: TableEnvironment) -> None:
    env.get_config().set_local_timezone("Asia/Tokyo")
    moment = datetime.datetime(2024, 1, 1, 9, tzinfo=datetime.UTC)
    table = env.from_elements([(moment,)], DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIMESTAMP_LTZ(3))]))
    assert str(table.to_pandas()["t"][0]) == "2024-01-01 18:00:00+09:00"


# -- jobs


def test_a_pipeline_writes_to_a_table(env: TableEnvironment, orders: Table, tmp_path: Path) -> None:
    env.execute_sql(
        f"CREATE TABLE sink (name STRING, price BIGINT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    pipeline = orders.insert_into("sink")
    assert str(pipeline.get_sink_identifier()) == "`default_catalog`.`default_database`.`sink`"
    assert "sink" in pipeline.explain()
    pipeline.execute().wait()
    assert sorted("".join(p.read_text() for p in tmp_path.glob("part-*")).split()) == ["ann,3", "ann,7", "bob,5"]


def test_a_pipeline_to_a_descriptor_has_no_name(env: TableEnvironment, orders: Table) -> None:
    schema = Schema.new_builder().column("name", "STRING").column("price", "BIGINT").build()
    target = TableDescriptor.for_connector("blackhole").schema(schema).build()
    pipeline = orders.insert_into(target)
    assert pipeline.get_sink_identifier() is None
    env.create_statement_set().add(pipeline).add_insert(target, orders).execute().wait()


def test_rows_of_expressions(env: TableEnvironment) -> None:
    table = env.from_elements([row(1, "a"), row(2, "b")], ["n", "s"])
    assert _rows(table) == [(1, "a"), (2, "b")]
    with pytest.raises(ValueError, match="expressions"):
        env.from_elements([row(1), (2,)])


def test_a_table_is_a_subquery(env: TableEnvironment, orders: Table) -> None:
    names = env.from_elements([("bob",)], ["n"])
    assert _rows(orders.filter(col("name").in_(names)).select(col("price"))) == [(5,)]
