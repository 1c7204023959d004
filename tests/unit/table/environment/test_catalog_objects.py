"""Catalogs, schemas and modules as programs see them."""

from __future__ import annotations

import pytest

from penstock.config import Configuration
from penstock.errors import PenstockError, UnsupportedOperation
from penstock.table import DataTypes, EnvironmentSettings, Schema, TableConfig, TableDescriptor, TableEnvironment
from penstock.table.catalog_objects.catalog import Catalog, CatalogDescriptor
from penstock.table.catalog_objects.columns import PhysicalColumn
from penstock.table.catalog_objects.identifiers import ObjectPath
from penstock.table.catalog_objects.resolved_schema import ResolvedSchema
from penstock.table.environment.descriptor import FormatDescriptor
from penstock.table.environment.schema import TableSchema


def catalog_of(env: TableEnvironment, name: str = "default_catalog") -> Catalog:
    found = env.get_catalog(name)
    assert found is not None
    return found


def test_a_table_of_a_catalog() -> None:
    env = TableEnvironment.create()
    schema = Schema.new_builder().column("a", DataTypes.INT()).column_by_expression("b", "a + 1").build()
    env.create_table("t", TableDescriptor.for_connector("print").schema(schema).option("x", "1").build())
    env.execute_sql("CREATE VIEW v AS SELECT a FROM t")
    catalog, path = catalog_of(env), ObjectPath("default_database", "t")
    assert catalog.list_tables("default_database") == ["t", "v"]
    assert catalog.list_views("default_database") == ["v"]
    assert catalog.table_exists(path)
    assert not catalog.table_exists(ObjectPath("nothing", "t"))
    table = catalog.get_table(path)
    assert table.get_options() == {"connector": "print", "x": "1"}
    assert table.get_unresolved_schema().draft.names() == ["a", "b"]
    view = catalog.get_table(ObjectPath.from_string("default_database.v"))
    assert view.get_unresolved_schema() == Schema.new_builder().column("a", "INT").build()
    with pytest.raises(PenstockError, match="Did you mean 't'"):
        catalog.get_table(ObjectPath("default_database", "tt"))
    assert env.get_catalog("nothing") is None


def test_temporary_objects_do_not_belong_to_a_catalog() -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE TEMPORARY TABLE t (a INT) WITH ('connector' = 'print')")
    assert not catalog_of(env).table_exists(ObjectPath("default_database", "t"))


def test_a_catalog_from_a_configuration() -> None:
    env = TableEnvironment.create()
    options = Configuration({"parallelism.default": 2})
    options.set_string("type", "generic_in_memory")
    env.create_catalog("mine", CatalogDescriptor.of("mine", options, "my own"))
    assert catalog_of(env, "mine").list_databases() == ["default"]
    rows = [tuple(row) for row in env.execute_sql("DESCRIBE CATALOG mine").collect()]
    assert rows[-1] == ("comment", "my own")


def test_the_text_of_a_schema() -> None:
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TINYINT()), DataTypes.FIELD("b", DataTypes.INT(False))])
    schema = (
        Schema.new_builder()
        .from_row_data_type(row)
        .column_by_metadata("topic", DataTypes.STRING(), None, True)
        .column_by_metadata("ts", "TIMESTAMP(3)", "timestamp")
        .column_by_expression("p", "PROCTIME()")
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .primary_key_named("pk", "b")
        .build()
    )
    assert str(schema).split("\n") == [
        "(",
        "  `a` TINYINT,",
        "  `b` INT NOT NULL,",
        "  `topic` STRING METADATA VIRTUAL,",
        "  `ts` TIMESTAMP(3) METADATA FROM 'timestamp',",
        "  `p` AS [PROCTIME()],",
        "  WATERMARK FOR `ts` AS [ts - INTERVAL '5' SECOND],",
        "  CONSTRAINT `pk` PRIMARY KEY (`b`) NOT ENFORCED",
        ")",
    ]
    with pytest.raises(PenstockError, match="ROW"):
        Schema.new_builder().from_row_data_type(DataTypes.INT())


def test_a_table_of_a_descriptor_belongs_to_no_catalog() -> None:
    env = TableEnvironment.create()
    schema = Schema.new_builder().column("a", DataTypes.INT()).build()
    table = env.from_descriptor(TableDescriptor.for_connector("datagen").schema(schema).build())
    assert Schema.new_builder().from_resolved_schema(table.get_resolved_schema()).build() == schema
    assert env.list_tables() == []


def test_the_text_of_a_descriptor() -> None:
    schema = Schema.new_builder().column("a", DataTypes.STRING()).build()
    form = FormatDescriptor.for_format("csv").option("ignore-parse-errors", True).build()
    builder = TableDescriptor.for_connector("kafka").schema(schema).partitioned_by("a").comment("Mine")
    descriptor = builder.format(form, "key.format").format("json").build()
    assert descriptor.get_options() == {
        "connector": "kafka",
        "key.csv.ignore-parse-errors": "true",
        "key.format": "csv",
        "format": "json",
    }
    assert str(descriptor).split("\n")[3:6] == ["COMMENT 'Mine'", "PARTITIONED BY (`a`)", "WITH ("]
    assert descriptor.get_schema() == schema
    assert TableDescriptor.for_connector("print").build().get_schema() is None


def test_rows_are_inserted_into_the_table_of_a_descriptor(capfd: pytest.CaptureFixture[str]) -> None:
    settings = EnvironmentSettings.new_instance().with_configuration({"execution.engine": "local"}).build()
    env = TableEnvironment.create(settings)
    schema = Schema.new_builder().column("n", DataTypes.BIGINT()).build()
    env.from_elements([(1,), (2,)], ["n"]).execute_insert(
        TableDescriptor.for_connector("print").schema(schema).build()
    ).wait()
    assert {"+I[1]", "+I[2]"} <= set(capfd.readouterr().out.split("\n"))
    assert env.list_tables() == []


def test_resolved_schemas() -> None:
    schema = ResolvedSchema.physical(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
    assert all(type(column) is PhysicalColumn for column in schema.get_columns())
    assert TableSchema.builder().field("a", DataTypes.INT()).build() == TableSchema(["a"], [DataTypes.INT()])
    with pytest.raises(TypeError):
        TableSchema(["a"], [DataTypes.INT()]).get_field_data_type(None)  # type: ignore[arg-type]


def test_modules() -> None:
    env = TableEnvironment.create()
    [module] = env.list_full_modules()
    assert (module.name(), module.used()) == ("core", True)
    env.use_modules("core")
    with pytest.raises(UnsupportedOperation):
        env.use_modules("core", "hive")


def test_settings_have_the_mode() -> None:
    mode = EnvironmentSettings.in_batch_mode().get_configuration().get_string("execution.runtime-mode", "")
    assert mode == "BATCH"
    config = TableConfig()
    config.set_max_generated_code_length(32000)
    assert config.get_max_generated_code_length() == 32000
