"""The program of test_delta.py, which needs a Spark session of its own. Prints what it read as one line of JSON per name."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.connectors.dataframe.tables import writing
from penstock.connectors.dataframe.tables.sink import TableWrite
from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.settings import EnvironmentSettings

FOLDER = sys.argv[1]
SETTINGS = {
    "execution.checkpointing.dir": f"{FOLDER}/checkpoints",
    "parallelism.default": "2",
    "table.dml-sync": "true",
    "table.local-time-zone": "Asia/Tokyo",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "10 ms",
    "spark.sql.warehouse.dir": f"{FOLDER}/warehouse",
    "spark.jar-bundles": "delta",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def environment(streaming: bool) -> TableEnvironment:
    env = TableEnvironment.create(
        EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    )
    for key, value in SETTINGS.items():
        env.get_config().set(key, value)
    env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark')")
    env.execute_sql("USE CATALOG lake")
    return env


def show(name: str, env: TableEnvironment, sql: str) -> None:
    with env.execute_sql(sql).collect() as found:
        print(json.dumps([name, sorted([str(v) for v in row] for row in found)]), flush=True)


def fail_after_writing() -> list[int]:
    """Each first write of a batch succeeds, and then fails, so that the batch is written again."""
    failures: list[int] = []
    write_batch = writing.write_batch

    def write_and_fail(frame: Any, write: TableWrite, folder: Path, batch: int) -> None:
        write_batch(frame, write, folder, batch)
        if not failures:
            failures.append(batch)
            raise OSError("the driver lost its connection")

    writing.write_batch = write_and_fail
    return failures


def wait_for_rows(table: str, count: int) -> None:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    deadline = time.monotonic() + 300
    while spark.table(table).count() < count and time.monotonic() < deadline:
        time.sleep(0.5)


def main() -> None:
    batch, stream = environment(False), environment(True)
    batch.execute_sql("CREATE TABLE t (id INT, name STRING) WITH ('provider' = 'delta')")
    batch.execute_sql("INSERT INTO t VALUES (1, 'a')")
    time.sleep(1.1)
    between = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 9 * 3600))  # in Tokyo
    time.sleep(1.1)
    failures = fail_after_writing()
    stream.execute_sql("INSERT INTO t VALUES (2, 'b')")
    print(json.dumps(["failures", len(failures)]), flush=True)
    show("appended once", batch, "SELECT * FROM t")
    show("version", batch, "SELECT * FROM t /*+ OPTIONS('scan.version' = '1') */")
    show("time", batch, f"SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{between}'")
    show("joined with the past", batch, "SELECT t.id, o.id FROM t LEFT JOIN t FOR SYSTEM_TIME AS OF "
         f"TIMESTAMP '{between}' AS o ON t.id = o.id")  # fmt: skip
    batch.execute_sql(
        "CREATE TABLE totals (id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('provider' = 'delta')"
    )
    batch.execute_sql("INSERT INTO totals VALUES (1, 10), (2, 20), (3, 30)")
    failures.clear()
    stream.execute_sql(
        "INSERT INTO totals SELECT id, n FROM (SELECT id, COUNT(*) AS n FROM (VALUES (1), (1), (4)) AS v(id) GROUP BY id)"
    )
    show("merged", batch, "SELECT * FROM totals")
    batch.execute_sql("CREATE TABLE days (id INT, day_ STRING) PARTITIONED BY (day_) WITH ('provider' = 'delta')")
    batch.execute_sql("INSERT INTO days VALUES (1, 'mon'), (2, 'tue')")
    batch.execute_sql("INSERT OVERWRITE days VALUES (9, 'tue')")
    show("partition overwritten", batch, "SELECT * FROM days")
    show("partitions", batch, "SHOW PARTITIONS days")
    batch.execute_sql("INSERT OVERWRITE t VALUES (7, 'g')")
    show("overwritten", batch, "SELECT * FROM t")
    batch.execute_sql("CREATE TABLE copy (id INT, day_ STRING) WITH ('provider' = 'delta')")
    stream.get_config().set("table.dml-sync", "false")
    options = "/*+ OPTIONS('streaming-source.enable' = 'true', 'scan.option.ignoreChanges' = 'true') */"
    client = stream.execute_sql(f"INSERT INTO copy SELECT * FROM days {options}").get_job_client()
    wait_for_rows("copy", 2)
    batch.execute_sql("INSERT INTO days VALUES (10, 'wed')")
    wait_for_rows("copy", 3)
    assert client is not None
    client.cancel().result()
    show("streamed", batch, "SELECT * FROM copy")


if __name__ == "__main__":
    main()
