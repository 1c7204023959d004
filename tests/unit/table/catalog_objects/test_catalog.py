"""Catalogs as programs see them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import PenstockError, UnsupportedOperation
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment, TableSchema
from penstock.table.catalog_objects.base_table import CatalogBaseTable
from penstock.table.catalog_objects.catalog import Catalog, HiveCatalog
from penstock.table.catalog_objects.columns import Column
from penstock.table.catalog_objects.constraints import Constraint, UniqueConstraint
from penstock.table.catalog_objects.described import (
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
)
from penstock.table.catalog_objects.identifiers import ObjectIdentifier, ObjectPath
from penstock.table.catalog_objects.resolved_schema import ResolvedSchema
from penstock.table.catalog_objects.statistics import CatalogColumnStatistics, CatalogTableStatistics

DDL = """
CREATE TABLE k (
  id INT NOT NULL, n STRING COMMENT 'a name', c AS id + 1, m BIGINT METADATA FROM 'offset' VIRTUAL, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'kafka', 'topic' = 't')
"""


@pytest.fixture
def env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture
def catalog(env: TableEnvironment) -> Catalog:
    found = env.get_catalog("default_catalog")
    assert found is not None
    found.create_database("db", CatalogDatabase.create_instance({"owner": "ann"}, "orders"), False)
    return found


def _table(*keys: str) -> CatalogBaseTable:
    schema = TableSchema(["p", "n"], [DataTypes.STRING(), DataTypes.INT()])
    return CatalogBaseTable.create_table(schema, keys, {"connector": "blackhole"}, "a table")


def test_databases(catalog: Catalog) -> None:
    assert catalog.list_databases() == ["db", "default_database"]
    found = catalog.get_database("db")
    assert (found.get_properties(), found.get_comment(), found.get_description()) == (
        {"owner": "ann"},
        "orders",
        "orders",
    )
    catalog.alter_database("db", CatalogDatabase.create_instance({}), False)
    assert catalog.get_database("db").copy().get_properties() == {}
    with pytest.raises(PenstockError, match="exists already"):
        catalog.create_database("db", CatalogDatabase.create_instance({}), False)
    catalog.create_table(ObjectPath("db", "t"), _table(), False)
    with pytest.raises(PenstockError, match="not empty"):
        catalog.drop_database("db", False)
    catalog.drop_table(ObjectPath("db", "t"), False)
    catalog.drop_database("db", False)
    catalog.drop_database("db", True)
    with pytest.raises(PenstockError, match="no database 'db'"):
        catalog.get_database("db")


def test_tables_and_views(env: TableEnvironment, catalog: Catalog) -> None:
    path = ObjectPath("db", "t")
    catalog.create_table(path, _table(), False)
    assert env.from_path("db.t").get_schema().get_field_names() == ["p", "n"]
    found = catalog.get_table(path)
    assert (found.get_options(), found.get_comment()) == ({"connector": "blackhole"}, "a table")
    view = CatalogBaseTable.create_view("SELECT 1", "SELECT 1", TableSchema(["v"], [DataTypes.INT()]), {}, "a view")
    catalog.create_table(ObjectPath("db", "v"), view, False)
    assert catalog.list_views("db") == ["v"]
    assert catalog.get_table(ObjectPath("db", "v")).get_detailed_description() == "SELECT 1"
    with pytest.raises(PenstockError, match="another kind"):
        catalog.alter_table(path, view, False)
    catalog.rename_table(path, "t2", False)
    assert catalog.list_tables("db") == ["t2", "v"]
    with pytest.raises(PenstockError, match=r"no table or view 'db\.t3'"):
        catalog.drop_table(ObjectPath("db", "t3"), False)
    catalog.drop_table(ObjectPath("db", "t3"), True)


def test_partitions_and_statistics(catalog: Catalog) -> None:
    path, spec = ObjectPath("db", "t"), CatalogPartitionSpec({"p": "1"})
    catalog.create_table(path, _table("p"), False)
    catalog.create_partition(path, spec, CatalogPartition.create_instance({"k": "v"}, "first"), False)
    assert [str(s) for s in catalog.list_partitions(path)] == ["CatalogPartitionSpec{{p=1}}"]
    assert catalog.get_partition(path, spec).get_properties() == {"k": "v"}
    catalog.alter_partition(path, spec, CatalogPartition.create_instance({}), False)
    assert catalog.get_partition(path, spec).get_comment() is None
    assert catalog.get_table_statistics(path).get_row_count() == -1
    catalog.alter_table_statistics(path, CatalogTableStatistics(3, 1, 30, 20), False)
    catalog.alter_partition_statistics(path, spec, CatalogTableStatistics(2, 1, 20, 10), False)
    catalog.alter_table_column_statistics(path, CatalogColumnStatistics({"n": "few"}), False)
    assert catalog.get_table_statistics(path).get_row_count() == 3
    assert [s.get_total_size() for s in catalog.bulk_get_partition_statistics(path, [spec])] == [20]
    assert catalog.get_table_column_statistics(path).get_column_statistics_data() == {"n": "few"}
    with pytest.raises(PenstockError, match="partition columns"):
        catalog.partition_exists(path, CatalogPartitionSpec({"q": "1"}))
    catalog.drop_partition(path, spec, False)
    assert not catalog.partition_exists(path, spec)
    with pytest.raises(PenstockError, match="no CatalogPartitionSpec"):
        catalog.get_partition_statistics(path, spec)


def test_functions(catalog: Catalog) -> None:
    path = ObjectPath("db", "F")
    catalog.create_function(path, CatalogFunction.create_instance("m.f"), False)
    assert catalog.function_exists(ObjectPath("db", "f"))
    catalog.alter_function(path, CatalogFunction.create_instance("m.g"), False)
    assert catalog.get_function(path).get_class_name() == "m.g"
    catalog.drop_function(path, False)
    with pytest.raises(PenstockError, match="no function"):
        catalog.get_function(path)
    with pytest.raises(ValueError, match="Python"):
        CatalogFunction.create_instance("m.f", "Cobol")


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.get_procedure(ObjectPath("db", "p")),
        lambda c: c.get_model(ObjectPath("db", "m")),
        lambda c: c.create_model(ObjectPath("db", "m"), None, False),
        lambda c: c.drop_model(ObjectPath("db", "m"), False),
        lambda c: HiveCatalog("hive"),
    ],
)
def test_what_needs_java_is_refused(catalog: Catalog, call: Any) -> None:
    with pytest.raises(UnsupportedOperation):
        call(catalog)


def test_a_catalog_can_have_a_second_name(env: TableEnvironment, catalog: Catalog) -> None:
    env.register_catalog("other", catalog)
    assert "other" in env.list_catalogs()
    assert env.get_catalog("other").list_databases() == ["db", "default_database"]  # type: ignore[union-attr]


def test_the_schema_of_a_table_has_all_that_flink_shows(env: TableEnvironment) -> None:
    env.execute_sql(DDL)
    schema = env.from_path("k").get_resolved_schema()
    assert str(schema).split("\n")[1:-1] == [
        "  `id` INT NOT NULL,",
        "  `n` STRING COMMENT 'a name',",
        "  `c` INT NOT NULL AS `id` + 1,",
        "  `m` BIGINT METADATA FROM 'offset' VIRTUAL,",
        "  `ts` TIMESTAMP(3) *ROWTIME*,",
        "  WATERMARK FOR `ts`: TIMESTAMP(3) AS `ts` - INTERVAL '5' SECOND,",
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
    ]
    assert schema.get_primary_key_indexes() == [0]
    rows = [schema.to_source_row_data_type(), schema.to_physical_row_data_type(), schema.to_sink_row_data_type()]
    assert [len(row.logical.fields) for row in rows] == [5, 3, 3]  # type: ignore[union-attr]
    assert len(env.sql_query("SELECT * FROM k").get_resolved_schema().get_watermark_specs()) == 0


def test_columns_and_constraints() -> None:
    column = Column.physical("a", DataTypes.INT())
    assert str(column.with_comment("q").rename("b").copy(DataTypes.BIGINT())) == "`b` BIGINT COMMENT 'q'"
    assert (column.is_physical(), column.is_persisted(), column.explain_extras()) == (True, True, None)
    virtual = Column.metadata("a", DataTypes.INT(), "k", True)
    assert (str(virtual), virtual.is_persisted(), virtual.get_metadata_key()) == (
        "`a` INT METADATA FROM 'k' VIRTUAL",
        False,
        "k",
    )
    key = UniqueConstraint.primary_key("pk", ["a"])
    assert (key.get_type(), key.is_enforced()) == (Constraint.ConstraintType.PRIMARY_KEY, False)
    schema = ResolvedSchema([column], [], key)
    assert schema == ResolvedSchema([column], [], UniqueConstraint("pk", ["a"]))
    assert schema.get_column("a") == schema.get_column(0) == column


def test_identifiers() -> None:
    name = ObjectIdentifier.of("c", "d", "t")
    assert (str(name), name.as_summary_string(), name.to_list()) == ("`c`.`d`.`t`", "c.d.t", ["c", "d", "t"])
    assert name.to_object_path().get_full_name() == "d.t"
    assert ObjectPath("a", "b").compare_to(ObjectPath("a", "c")) < 0
