"""Names of pyflink.table.types that are not exported: classes of types, inference, and the verifier."""

import array
import datetime

import pyarrow as pa
import pytest

from penstock.pyflink.alias import pyflink_modules
from penstock.pyflink.type_inference import _infer_schema_from_data, _infer_type, _merge_type, from_arrow_type
from penstock.pyflink.type_verifier import _create_type_verifier
from penstock.row import Row
from penstock.table import DataTypes
from penstock.table.type_classes import ArrayType, BigIntType, LocalZonedTimestampType, ZonedTimestampType


def test_programs_import_the_names() -> None:
    with pyflink_modules():
        from pyflink.table.types import BigIntType as Imported  # type: ignore[import-not-found,import-untyped,unused-ignore]
    assert Imported is BigIntType


def test_classes_tell_types_apart() -> None:
    assert isinstance(DataTypes.BIGINT(), BigIntType)
    assert not isinstance(DataTypes.INT(), BigIntType)
    assert isinstance(ArrayType(DataTypes.INT()).element_type, type(DataTypes.INT()))


def test_types_of_values() -> None:
    assert repr(_infer_type(array.array("d", [1]))) == "ArrayType(DoubleType(false), true)"
    found = _infer_schema_from_data([Row(a=None), Row(a="x")])
    assert found == DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING())])
    with pytest.raises(TypeError):
        _merge_type(DataTypes.BIGINT(), DataTypes.STRING())
    with pytest.raises(ValueError, match="not known"):
        _infer_schema_from_data([Row(a=None)])


def test_fields_of_arrow_types_keep_nullability() -> None:
    found = from_arrow_type(pa.list_(pa.field("item", pa.int64(), nullable=False)), nullable=False)
    assert str(found) == "ARRAY<BIGINT NOT NULL> NOT NULL"


def test_stored_values() -> None:
    time = datetime.datetime(1970, 1, 1, 0, 0, 1)
    assert DataTypes.TIMESTAMP().to_sql_type(time) == 1_000_000
    assert DataTypes.TIMESTAMP().from_sql_type(1_000_000) == time
    zone = datetime.timezone(datetime.timedelta(hours=1))
    expected = LocalZonedTimestampType.EPOCH_ORDINAL - 3_599_000_000
    assert DataTypes.TIMESTAMP_LTZ().to_sql_type(time.replace(tzinfo=zone)) == expected
    assert ZonedTimestampType().to_sql_type(time.replace(tzinfo=zone)) == (1_000_000, 3600)
    assert ZonedTimestampType().from_sql_type((1_000_000, 3600)) == time.replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("value", "data_type", "error"),
    [
        (None, DataTypes.INT(False), ValueError),
        (128, DataTypes.TINYINT(), ValueError),
        ("1", DataTypes.INT(), TypeError),
        ("abc", DataTypes.CHAR(1), ValueError),
        (["a"], DataTypes.ARRAY(DataTypes.INT()), TypeError),
        ({"a": None}, DataTypes.MAP(DataTypes.STRING(), DataTypes.INT(False)), ValueError),
        ([], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), ValueError),
    ],
)
def test_the_verifier_refuses(value: object, data_type: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        _create_type_verifier(data_type)(value)


def test_fields_of_rows_by_name_and_position() -> None:
    row = DataTypes.ROW().add("a", DataTypes.INT()).add("b", DataTypes.STRING())
    assert row["a"] is row[0] is row.fields[0]
    assert row[0:1] == DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    assert (len(row), [f.name for f in row]) == (2, ["a", "b"])
    with pytest.raises(KeyError, match="There is no field 'x'"):
        row["x"]
