"""All sources of a batch job as one Python data source, with a partition per read task and one for the control frame."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from penstock.engine.program.batch_partitions import BatchPartitions
from penstock.engine.wire.frames import Bundle, Bundles, Control
from penstock.spark.query import worker
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.slots import slot_labels

BATCH_SCHEMA = "slot int, level int, share int, task int, seq int, blob binary"
_ARROW_SCHEMA = pa.schema(
    [(name, pa.int32()) for name in ("slot", "level", "share", "task", "seq")] + [("blob", pa.binary())]
)
CONTROL = -1  # instead of the number of a source


def to_rows(bundles: Iterator[Bundle], shares: BatchPartitions, task: int) -> Iterator[pa.RecordBatch]:
    """Converts bundles to rows. Within a share they are ordered by (task, seq), which is the same in every run."""
    label = slot_labels(shares.slots)
    for seq, (address, level, blob) in enumerate(bundles):
        numbers = (label[shares.slot(address)], level, shares.partition(address), task, seq)
        columns = [pa.array([number], pa.int32()) for number in numbers]
        yield pa.record_batch([*columns, pa.array([blob], pa.binary())], _ARROW_SCHEMA)


class BatchPartition(InputPartition):
    """One read task. It is pickled, because the classes of the program are needed to unpickle it."""

    def __init__(self, number: int, source: int, task: bytes) -> None:
        super().__init__(number)
        self.source = source
        self.task = task


class BatchReader(DataSourceReader):
    """Runs the tasks planned by the driver on executors."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = str(folder.path)
        self._key, self._data = folder.read_program()

    def partitions(self) -> Sequence[InputPartition]:
        tasks = RunFolder(self._folder).read_tasks()
        return [BatchPartition(number, source, task) for number, (source, task) in enumerate(tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, BatchPartition)
        with wrap_errors(), worker.forward_logs(self._folder), worker.pause_garbage_collection():
            program = worker.get_program(self._key, self._data)
            assert program.batch_partitions is not None
            task = pickle.loads(partition.task)
            if partition.source == CONTROL:
                bundles = _control_bundles(task, program.control_levels(), program.parallelism)
            else:
                # Functions are opened once per subtask, not once per task.
                subtask = partition.value % program.source_parallelism
                mapper = worker.get_mapper(self._key, self._data, partition.source, subtask)
                mapper.batch = 0
                bundles = mapper.run(task, [])
            yield from to_rows(bundles, program.batch_partitions, partition.value)


def _control_bundles(control: Control, levels: list[int], slots: int) -> Iterator[Bundle]:
    """The control frame for every slot. It sets the clock and ends all splits."""
    out = Bundles()
    for level in levels:
        for slot in range(slots):
            out.add(level, slot, control)
    return out.take_all()


class PenstockBatch(DataSource):
    """The data source of a batch job. Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_batch"

    def schema(self) -> str:
        return BATCH_SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return BatchReader(RunFolder(self.options["folder"]))
