"""Runs Nexmark queries with Flink SQL on Flink's mini cluster with two slots, with a checkpoint every ten seconds."""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from script import select_of, statements
from worker import final_rows, serve

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--scratch", required=True)
PARSER.add_argument("--jars", required=True, help="separated by commas")
OPTIONS = PARSER.parse_args()
SCRATCH = Path(OPTIONS.scratch).absolute()
tempfile.tempdir = os.environ["TMPDIR"] = str(SCRATCH)
os.environ["JVM_ARGS"] = f"-Xmx5g -Djava.io.tmpdir={SCRATCH}"
os.environ["FLINK_LOG_DIR"] = str(SCRATCH)

from pyflink.common import Configuration  # noqa: E402
from pyflink.table import EnvironmentSettings, TableEnvironment  # noqa: E402

# With which Nexmark for Flink runs aggregates. Results come up to two seconds later.
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
BACKENDS = {
    "heap": {"state.backend.type": "hashmap"},
    "rocksdb": {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": "true"},
    "rocksdb-mini-batch": {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
        **MINI_BATCH,
    },
}


def environment(backend: str, number: int) -> Any:
    settings = {
        "pipeline.jars": ";".join(f"file://{jar}" for jar in OPTIONS.jars.split(",")),
        "parallelism.default": "2",
        "taskmanager.numberOfTaskSlots": "2",
        "taskmanager.memory.managed.size": "1g",
        "pipeline.object-reuse": "true",
        "rest.bind-address": "127.0.0.1",
        "rest.bind-port": "28081-28199",
        "execution.checkpointing.interval": "10 s",
        # Otherwise a job that has read all of its input waits for the next checkpoint before it ends, up to ten seconds.
        "execution.checkpointing.checkpoints-after-tasks-finish": "false",
        "execution.checkpointing.dir": f"file://{SCRATCH}/checkpoints-{number}",
        "io.tmp.dirs": str(SCRATCH),
        "table.local-time-zone": "UTC",
        **BACKENDS[backend],
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    return TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    )


class LargestFolder:
    """Looks at the size of a folder twice a second, because Flink removes the checkpoints of a job that has ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.size = 0

    def __enter__(self) -> LargestFolder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            with suppress(OSError):  # a file was removed meanwhile
                self.size = max(self.size, sum(f.stat().st_size for f in self._folder.rglob("*") if f.is_file()))


def main() -> None:
    number = 0

    def run(order: dict[str, Any]) -> dict[str, Any]:
        nonlocal number
        number += 1
        tables = environment(order["backend"], number)
        *before, insert = statements(order["query"], order)
        for statement in before:
            tables.execute_sql(statement)
        began = time.time()
        if order["collect"]:
            with tables.execute_sql(select_of(insert)).collect() as rows:
                return {"rows": final_rows((str(row.get_row_kind()), row) for row in rows)}
        with LargestFolder(SCRATCH / f"checkpoints-{number}") as checkpoints:
            tables.execute_sql(insert).wait()
        return {"seconds": time.time() - began, "state": checkpoints.size}

    serve(run)


if __name__ == "__main__":
    main()
