"""All sources of a batch job as one Python data source: a partition for each planned task, and one for control."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from penstock.engine.frames import Bundle, Bundles, Control
from penstock.engine.shares import Shares
from penstock.spark import worker
from penstock.spark.failure import carrying
from penstock.spark.run_folder import RunFolder
from penstock.spark.slots import labels

BATCH_SCHEMA = "slot int, level int, share int, task int, seq int, blob binary"
_ARROW_SCHEMA = pa.schema(
    [(name, pa.int32()) for name in ("slot", "level", "share", "task", "seq")] + [("blob", pa.binary())]
)
CONTROL = -1  # in the place of a source's number


def to_rows(bundles: Iterator[Bundle], shares: Shares, task: int) -> Iterator[pa.RecordBatch]:
    """Bundles as rows. Within a share they are ordered by (task, seq): the same in every run."""
    label = labels(shares.slots)
    for seq, (address, level, blob) in enumerate(bundles):
        numbers = (label[shares.slot_of(address)], level, shares.share_of(address), task, seq)
        columns = [pa.array([number], pa.int32()) for number in numbers]
        yield pa.record_batch([*columns, pa.array([blob], pa.binary())], _ARROW_SCHEMA)


class BatchPartition(InputPartition):
    """One task: its number, its source, and the task itself as bytes that need the program's classes to be opened."""

    def __init__(self, number: int, source: int, task: bytes) -> None:
        super().__init__(number)
        self.source = source
        self.task = task


class BatchReader(DataSourceReader):
    """Reads on executors what the driver has planned."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = str(folder.path)
        self._key, self._data = folder.program()

    def partitions(self) -> Sequence[InputPartition]:
        tasks = RunFolder(self._folder).tasks()
        return [BatchPartition(number, source, task) for number, (source, task) in enumerate(tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, BatchPartition)
        with carrying(), worker.heard_logs(self._folder), worker.no_garbage_collection():
            program = worker.program_of(self._key, self._data)
            assert program.shares is not None
            task = cloudpickle.loads(partition.task)
            if partition.source == CONTROL:
                bundles = _told(task, program.control_levels(), program.parallelism)
            else:
                # Functions are opened once for each subtask, not for each of its tasks.
                subtask = partition.value % program.parallelism
                mapper = worker.mapper_of(self._key, self._data, partition.source, subtask)
                mapper.batch = 0
                bundles = mapper.run(task, [])
            yield from to_rows(bundles, program.shares, partition.value)


def _told(control: Control, levels: list[int], slots: int) -> Iterator[Bundle]:
    """Control's word for every slot: the end of everything, and the clock."""
    out = Bundles()
    for level in levels:
        for slot in range(slots):
            out.add(level, slot, control)
    return out.take_all()


class PenstockBatch(DataSource):
    """Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_batch"

    def schema(self) -> str:
        return BATCH_SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return BatchReader(RunFolder(self.options["folder"]))
