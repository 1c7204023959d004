"""The deprecated descriptors of `pyflink.table.descriptors`."""

from __future__ import annotations

import pytest

from penstock.errors import PlanError, UnsupportedOperation
from penstock.pyflink.alias import pyflink_modules
from penstock.pyflink.descriptors import Rowtime, Schema
from penstock.table.data_types import DataTypes


def test_the_module_of_pyflink_has_its_own_schema() -> None:
    with pyflink_modules():
        import pyflink.table.descriptors as descriptors  # type: ignore[import-not-found]

        assert descriptors.Schema is Schema
        assert descriptors.__all__ == ["Rowtime", "Schema"]


def test_properties_of_columns_and_times() -> None:
    rowtime = Rowtime().watermarks_periodic_ascending().timestamps_from_source().watermarks_periodic_bounded(5)
    schema = Schema(fields={"a": DataTypes.STRING(), "b": "SQL_TIMESTAMP"}).rowtime(rowtime)
    schema.field("c", DataTypes.BIGINT().not_null()).from_origin_field("x").proctime()
    assert schema.to_properties() == {
        "schema.0.name": "a",
        "schema.0.data-type": "VARCHAR(2147483647)",
        "schema.1.name": "b",
        "schema.1.data-type": "TIMESTAMP(3)",
        "schema.1.rowtime.timestamps.type": "from-source",
        "schema.1.rowtime.watermarks.type": "periodic-bounded",
        "schema.1.rowtime.watermarks.delay": "5",
        "schema.2.name": "c",
        "schema.2.data-type": "BIGINT NOT NULL",
        "schema.2.from": "x",
        "schema.2.proctime": "true",
    }


def test_what_is_refused() -> None:
    with pytest.raises(PlanError, match="no column yet"):
        Schema().proctime()
    with pytest.raises(PlanError, match="Duplicate field name a"):
        Schema().field("a", "INT").field("a", "INT")
    with pytest.raises(TypeError):
        Schema().fields([("a", "INT")])  # type: ignore[arg-type]
    with pytest.raises(UnsupportedOperation, match="class of Java"):
        Rowtime().watermarks_from_strategy("a.B")
