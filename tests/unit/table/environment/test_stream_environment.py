"""Tables in the environment of a DataStream program."""

from __future__ import annotations

import pytest

from penstock import Configuration, StreamExecutionEnvironment
from penstock.errors import PenstockError
from penstock.table.data_types import DataTypes
from penstock.table.environment.descriptor import Schema, TableDescriptor
from penstock.table.environment.stream_environment import StreamTableEnvironment
from penstock.testing import Harness


def test_a_generated_table_becomes_a_stream() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(stream_execution_environment=env)
    descriptor = (
        TableDescriptor.for_connector("datagen")
        .schema(Schema.new_builder().column("id", DataTypes.INT()).build())
        .option("fields.id.kind", "sequence")
        .option("fields.id.start", 3)
        .option("fields.id.end", "5")
        .option("rows-per-second", "1000000")
        .build()
    )
    tables.create_temporary_table("numbers", descriptor)
    harness = Harness(env)
    found = harness.collect(tables.to_data_stream(tables.from_path("numbers")))
    harness.run()
    assert [row[0] for row in found] == [3, 4, 5]


def test_statements_run_without_a_job() -> None:
    tables = StreamTableEnvironment.create()
    tables.execute_sql("CREATE TABLE t (id INT)")
    assert tables.list_tables() == ["t"]
    with pytest.raises(PenstockError):
        tables.from_path("u")


def test_options_of_jobs_that_are_set_in_the_table_environment_apply_to_its_jobs() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration({"parallelism.default": 3}))
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("pipeline.global-job-parameters", "limit:2").set("table.exec.state.ttl", "1 h")
    stream = tables.to_data_stream(tables.from_elements([(1,)], ["a"]))
    assert stream is not None
    assert env.get_config().get_global_job_parameters() == {"limit": "2"}
    assert env.get_parallelism() == 3
