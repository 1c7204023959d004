"""Runs Nexmark queries with Penstock on Spark with two cores. Every batch is a checkpoint."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from script import select_of, statements
from worker import final_rows, serve

from penstock.config import Configuration
from penstock.spark.session.session import get_session
from penstock.table.environment.environment import TableEnvironment


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--batch", type=int, required=True, help="records of a batch")
    options = parser.parse_args()
    settings = {
        "spark.master": "local[2]",
        "parallelism.default": 2,
        # The JVM only coordinates. Its second compiler and concurrent garbage collection would take CPU time from the Python
        # workers.
        "spark.jvm-options": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "source.batch.records": options.batch,
    }
    get_session(Configuration(settings))
    number = 0

    def run(order: dict[str, Any]) -> dict[str, Any]:
        nonlocal number
        number += 1
        folder = Path(options.scratch, f"job-{number}")
        here = {"execution.checkpointing.dir": str(folder / "checkpoint"), "state.local.dir": str(folder / "state")}
        tables = TableEnvironment.create(Configuration(settings | here))
        tables.get_config().set("table.local-time-zone", "UTC")
        *before, insert = statements(order["query"], order)
        for statement in before:
            tables.execute_sql(statement)
        began = time.time()
        if order["collect"]:
            with tables.execute_sql(select_of(insert)).collect() as rows:
                return {"rows": final_rows((str(row.get_row_kind()), row) for row in rows)}
        client = tables.execute_sql(insert).get_job_client()
        assert client is not None
        result = client.get_job_execution_result().result()
        seconds = time.time() - began
        batches = [(sum(b["read"].values()), b["millis"]["triggerExecution"]) for b in result.batches if b["read"]]
        state = max((b["state_bytes"] for b in result.batches), default=0)
        return {"seconds": seconds, "batches": batches, "state": state}

    serve(run)


if __name__ == "__main__":
    main()
