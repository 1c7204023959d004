"""Expressions as objects of Python: attributes, copies, errors, and nodes that only the Table API has."""

from __future__ import annotations

import array
import copy
import datetime
import decimal
import math
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from penstock.errors import PlanError, SqlValidationError
from penstock.row import Row
from penstock.runtime.relational.expressions.tree import Literal
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scope import Scope
from penstock.table.dialect import nodes
from penstock.table.expressions import (
    Expression,
    call,
    col,
    concat_ws,
    descriptor,
    if_then_else,
    json_object,
    lit,
    map_,
    object_of,
    range_,
    row,
    with_all_columns,
    with_columns,
    without_columns,
)
from penstock.table.expressions.units import JsonOnNull
from penstock.types.logical.kinds import INT, STRING, Field, RowType

SCOPE = Scope.of([("i", INT), ("s", STRING), ("r", RowType((Field("x", INT), Field("y", STRING))))])


def literal(value: Any) -> Literal:
    found = ExpressionBinder(SCOPE).bind(value.node)
    assert isinstance(found, Literal)
    return found


def test_an_expression_is_neither_true_nor_false() -> None:
    with pytest.raises(PlanError, match="Write & for"):
        bool(col("i") == 1)
    with pytest.raises(PlanError, match="TABLE_EXPRESSION"):
        _ = col("i") == 1 and col("s") == "a"


def test_an_expression_has_no_elements() -> None:
    with pytest.raises(TypeError):
        iter(col("i"))


def test_other_attributes_are_fields_of_a_row() -> None:
    assert str(col("r").x) == "get(r, 'x')"
    with pytest.raises(AttributeError):
        _ = col("r")._x


def test_expressions_can_be_copied_and_hashed() -> None:
    value = col("i") + 1
    assert str(copy.deepcopy(value)) == "plus(i, 1)"
    assert str(copy.copy(value)) == "plus(i, 1)"
    assert len({value, value}) == 1


def test_an_expression_can_be_used_twice() -> None:
    value = col("i") + 1
    product = value * value
    parts = [product.node.this, product.node.expression]
    assert parts[0] is not parts[1]
    assert all(part.parent is not None for part in parts)
    assert value.node.parent is None


def test_annotations_with_types_are_possible() -> None:
    def upper(text: Expression[str]) -> Expression[str]:
        return text.upper_case

    assert str(upper(col("s"))) == "upper(s)"


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (1, DataTypes.TINYINT(), 1),
        (1, DataTypes.DOUBLE(), 1.0),
        (1.25, DataTypes.DECIMAL(5, 1), decimal.Decimal("1.3")),
        ("a", DataTypes.CHAR(3), "a  "),
        (b"a", DataTypes.BYTES(), b"a"),
        (datetime.date(1970, 1, 2), DataTypes.DATE(), 1),
        (datetime.time(0, 0, 1), DataTypes.TIME(3), 1000),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), DataTypes.TIMESTAMP(3), 1_000_000_000),
        (
            datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
            DataTypes.TIMESTAMP_LTZ(3),
            0,
        ),
        (datetime.timedelta(seconds=1), DataTypes.INTERVAL(DataTypes.SECOND(3)), 1000),
        ([1, None], DataTypes.ARRAY(DataTypes.INT()), (1, None)),
        ({"a": 1}, DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), (("a", 1),)),
        (
            Row(1, "a"),
            DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())]),
            (1, "a"),
        ),
    ],
)
def test_literals_with_a_type(value: Any, type_: Any, expected: Any) -> None:
    found = literal(lit(value, type_))
    assert found.value == expected
    assert found.type == type_.logical


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (300, DataTypes.TINYINT()),
        ("a", DataTypes.INT()),
        (True, DataTypes.INT()),
        ((1,), DataTypes.ROW([])),
        ([None], DataTypes.ARRAY(DataTypes.INT(False))),
        (bytearray(b"a"), DataTypes.ARRAY(DataTypes.TINYINT())),
        (b"a", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.TINYINT())])),
    ],
)
def test_literals_must_fit_their_type(value: Any, type_: Any) -> None:
    with pytest.raises(PlanError, match="TABLE_EXPRESSION"):
        lit(value, type_)


def test_types_are_those_of_data_types() -> None:
    with pytest.raises(TypeError, match="Unsupported data type: INT"):
        lit(1, "INT")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Unsupported data type: INT"):
        col("i").cast("INT")  # type: ignore[arg-type]


def test_values_of_numpy_and_special_numbers() -> None:
    assert literal(lit(np.int64(5))).value == 5
    assert math.isnan(literal(lit(math.nan)).value)
    assert literal(lit(-math.inf)).value == -math.inf
    assert literal(lit(decimal.Decimal("1E+3"))).value == 1000


def test_values_of_other_types_are_refused() -> None:
    with pytest.raises(PlanError, match="type object cannot be part of an expression"):
        lit(object())
    with pytest.raises(PlanError, match=r"col takes the name of a column, found 1\. Constants are lit\(1\)"):
        col(1)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="no number that DECIMAL has"):
        lit(decimal.Decimal("NaN"))


def test_keys_without_values_are_refused() -> None:
    for build in (lambda: map_("a", 1, "b"), lambda: json_object(JsonOnNull.NULL, "a"), lambda: object_of("C", "a")):
        with pytest.raises(PlanError, match="keys and values in turn"):
            build()


def test_choices_of_columns() -> None:
    assert isinstance(col("*").node, exp.Star)
    assert isinstance(with_all_columns().node, exp.Star)
    chosen = without_columns(range_("a", "c"), col("x"), 3).node
    assert isinstance(chosen, nodes.ColumnSelection)
    assert chosen.args["without"] is True
    assert isinstance(chosen.expressions[0], nodes.ColumnRange)
    assert not with_columns(col("a")).node.args["without"]
    assert [part.name for part in descriptor("a", "b").node.expressions] == ["a", "b"]


def test_aliases_of_one_and_of_several_columns() -> None:
    assert isinstance(col("a").alias("b").node, exp.Alias)
    assert [part.name for part in col("a").alias("b", "c").node.expressions] == ["b", "c"]


def test_named_arguments_and_order() -> None:
    argument = lit(1).as_argument("x").node
    assert isinstance(argument, nodes.NamedArgument)
    assert argument.this.name == "x"
    assert col("a").desc.node.args["desc"] is True
    assert col("a").asc.node.args["desc"] is False


def test_aggregates() -> None:
    call_node = col("a").count.distinct.node
    assert isinstance(call_node, nodes.Call)
    assert call_node.args["quantifier"] == "DISTINCT"
    window = col("a").sum.over(col("w")).node
    assert isinstance(window, exp.Window)
    assert window.args["alias"].name == "w"


def test_paths_of_functions() -> None:
    node = call("my_catalog.`my db`.f", col("a"), 1).node
    assert (node.name, node.args["path"]) == ("f", ["my_catalog", "my db"])


def test_errors_name_the_field() -> None:
    binder = ExpressionBinder(SCOPE)
    with pytest.raises(SqlValidationError, match="no field 2 in a value of type ROW"):
        binder.bind(col("r").get(2).node)
    with pytest.raises(SqlValidationError, match="no field 'z'"):
        binder.bind(col("r").z.node)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object_of("C", "a", 1, "a", 2), "given twice"),
        (object_of("C", col("s"), 1), "a text that is a constant"),
        (object_of("C", "a", 1).object_update("b", 1), "no field 'b'"),
        (col("i").object_update("b", 1), "takes an object first"),
        (call("OBJECT_OF", "C", "a"), "names and values in turn"),
    ],
)
def test_objects_with_errors(value: Expression[Any], words: str) -> None:
    with pytest.raises(SqlValidationError, match=words):
        ExpressionBinder(SCOPE).bind(value.node)


def test_expressions_in_a_query() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table = environment.from_elements([(1, "a"), (2, None)], ["n", "s"])
    wanted = table.filter(col("n") > 1).select(col("n"))
    found = table.filter(col("n").in_(wanted)).select(
        concat_ws("-", "x", col("s")).alias("a"),
        if_then_else(col("s").is_null, 0, 1).alias("b"),
        row(col("n")).alias("r"),
    )
    assert [tuple(r) for r in found.execute().collect()] == [("x", 0, Row(f0=2))]


def test_in_takes_one_table() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table = environment.from_elements([(1,)], ["n"])
    with pytest.raises(PlanError, match="takes one table"):
        col("n").in_(table, 1)


def test_values_of_python_arrays_and_nested_types_are_columns() -> None:
    nested = DataTypes.ARRAY(DataTypes.MAP(DataTypes.SMALLINT(), DataTypes.ARRAY(DataTypes.FLOAT())))
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    table = env.from_elements([(1,)], ["id"])
    selected = table.select(lit(array.array("h", [1, 2])), lit(array.array("u", "ab")), lit([{3: [1.5]}], nested))
    with selected.execute().collect() as rows:
        assert [list(row) for row in rows] == [[[1, 2], ["a", "b"], [{3: [1.5]}]]]


def test_a_time_with_a_zone_is_the_time_of_this_machine() -> None:
    one = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    other = one.astimezone(datetime.timezone(datetime.timedelta(hours=8)))
    type_ = DataTypes.TIMESTAMP(3)
    assert lit(one, type_).node == lit(other, type_).node
