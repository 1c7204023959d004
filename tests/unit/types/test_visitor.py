"""The visitor over types, and the Arrow columns of files and DataFrames."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.row import Row
from penstock.time import Instant
from penstock.types import TypeInformation, Types
from penstock.types.arrow import FileColumns, NoArrowType, SparkColumns
from penstock.types.visitor import TypeVisitor


class MethodNames(TypeVisitor[str]):
    """Returns the name of the method that was called."""

    def visit_basic(self, type_info: TypeInformation) -> str:
        return "basic"

    def visit_instant(self, type_info: TypeInformation) -> str:
        return "instant"

    def visit_date(self, type_info: TypeInformation) -> str:
        return "date"

    def visit_time(self, type_info: TypeInformation) -> str:
        return "time"

    def visit_timestamp(self, type_info: TypeInformation) -> str:
        return "timestamp"

    def visit_bytes(self, type_info: TypeInformation) -> str:
        return "bytes"

    def visit_list(self, type_info: TypeInformation) -> str:
        return "list"

    def visit_map(self, type_info: TypeInformation) -> str:
        return "map"

    def visit_tuple(self, type_info: TypeInformation) -> str:
        return "tuple"

    def visit_row(self, type_info: TypeInformation) -> str:
        return "row"

    def visit_scalar(self, type_info: TypeInformation) -> str:
        return "scalar"

    def visit_class(self, type_info: TypeInformation) -> str:
        return "class"

    def visit_opaque(self, type_info: TypeInformation) -> str:
        return "opaque"


@dataclasses.dataclass
class Point:
    x: int


class WithoutFields:
    pass


@pytest.mark.parametrize(
    ("type_info", "method"),
    [
        (Types.STRING(), "basic"),
        (Types.BIG_DEC(), "basic"),
        (Types.INSTANT(), "instant"),
        (Types.SQL_DATE(), "date"),
        (Types.SQL_TIME(), "time"),
        (Types.SQL_TIMESTAMP(), "timestamp"),
        (Types.BYTES(), "bytes"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "bytes"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "list"),
        (Types.BASIC_ARRAY(Types.INT()), "list"),
        (Types.OBJECT_ARRAY(Types.STRING()), "list"),
        (Types.LIST(Types.INT()), "list"),
        (Types.MAP(Types.STRING(), Types.INT()), "map"),
        (Types.TUPLE([Types.INT()]), "tuple"),
        (Types.ROW([Types.INT()]), "row"),
        (Types.of(int), "scalar"),
        (Types.of(list[int]), "list"),
        (Types.of(Point), "class"),
        (Types.of(WithoutFields), "opaque"),
        (Types.PICKLED_BYTE_ARRAY(), "opaque"),
    ],
)
def test_every_type_calls_its_method(type_info: TypeInformation, method: str) -> None:
    assert MethodNames().visit(type_info) == method


def test_a_visitor_must_implement_every_method() -> None:
    class Incomplete(TypeVisitor[str]):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("type_info", "value", "arrow"),
    [
        (Types.BIG_INT(), 2**70, pa.decimal128(38, 0)),
        (Types.BIG_DEC(), decimal.Decimal("1.5"), pa.decimal128(38, 18)),
        (Types.SQL_TIME(), datetime.time(1, 2, 3, 4), pa.time64("us")),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 1, 2, 3), pa.timestamp("us")),
        (Types.INSTANT(), Instant(-1, 999_000_000), pa.timestamp("us", "UTC")),
        (Types.LIST(Types.INSTANT()), [Instant(1, 0), None], pa.list_(pa.timestamp("us", "UTC"))),
        (Types.MAP(Types.STRING(), Types.BIG_INT()), {"a": 1, "b": None}, pa.map_(pa.string(), pa.decimal128(38, 0))),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Row(a=1), pa.struct([("a", pa.int32())])),
        (Types.of(Point), Point(3), pa.struct([("x", pa.int64())])),
    ],
)
def test_columns_of_files_round_trip(type_info: TypeInformation, value: Any, arrow: pa.DataType) -> None:
    column = FileColumns().visit(type_info)
    assert column.arrow == arrow
    stored, missing = column.array([value, None]).to_pylist()
    assert (stored if column.decode is None else column.decode(stored)) == value
    assert missing is None


def test_columns_of_dataframes() -> None:
    columns = SparkColumns()
    assert columns.visit(Types.SQL_TIMESTAMP()).arrow == pa.timestamp("us", "UTC")
    pair = columns.visit(Types.TUPLE([Types.STRING(), Types.LIST(Types.INT())]))
    assert pair.array([("a", (1, 2))]).to_pylist() == [{"f0": "a", "f1": [1, 2]}]


@pytest.mark.parametrize(
    ("columns", "type_info"),
    [
        (SparkColumns(), Types.SQL_TIME()),
        (SparkColumns(), Types.PICKLED_BYTE_ARRAY()),
        (FileColumns(), Types.TUPLE([Types.INT()])),
        (FileColumns(), Types.of(WithoutFields)),
    ],
)
def test_types_without_a_column_are_named_with_their_path(columns: FileColumns, type_info: TypeInformation) -> None:
    inner = Types.ROW_NAMED(["b"], [type_info])
    with pytest.raises(NoArrowType) as raised:
        columns.visit(Types.ROW_NAMED(["a"], [inner]))
    assert raised.value.path == ("a", "b")
    assert raised.value.type_info == type_info
