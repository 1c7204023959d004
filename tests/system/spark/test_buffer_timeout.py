"""Records wait on Spark for a batch to fill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import DataGeneratorSource, Sink, SinkWriter, WriteTask
from tests.waiting import until

pytestmark = pytest.mark.spark

FULL = 40


class SizeSink(Sink):
    """Writes the number of elements of each batch to a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def writer(self, task: WriteTask) -> SinkWriter:
        return _SizeWriter(self._folder / f"{task.batch}-{task.partition}")


class _SizeWriter(SinkWriter):
    def __init__(self, file: Path) -> None:
        self._file = file
        self._count = 0

    def write(self, values: list[Any], timestamps: Any, tags: Any) -> None:
        self._count += len(values)

    def prepare(self) -> Any:
        self._file.write_text(str(self._count))
        return None


def read_sizes(folder: Path) -> list[int]:
    """The sizes of all batches with elements."""
    return [int(text) for file in folder.iterdir() if (text := file.read_text()) not in ("", "0")]


def test_without_a_timeout_all_batches_are_full(spark: SparkSession, tmp_path: Path) -> None:
    """The source has few records whenever Spark asks, so batches that start at once would be of any size."""
    sizes = tmp_path / "sizes"
    sizes.mkdir()
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    )
    env.set_parallelism(1).set_buffer_timeout(-1)
    source = DataGeneratorSource(lambda i: i, rate=FULL * 4, records_per_batch=FULL)
    env.from_source(source).sink_to(SizeSink(sizes))
    client = env.execute_async("full batches")
    try:
        until(lambda: len(read_sizes(sizes)) >= 3)
    finally:
        client.cancel().result()
    assert set(read_sizes(sizes)) == {FULL}
