"""Sources of Penstock as Python data sources of Spark. The mapper runs inside `read`, so records do not pass the JVM."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from penstock.connectors.buffer_timeout import BufferTimeout
from penstock.connectors.source import ReadContext, Source
from penstock.engine.program.program import Program
from penstock.engine.slots.alignment import paused_splits
from penstock.engine.slots.control import SplitStatus
from penstock.engine.wire.frames import Bundle
from penstock.runtime.loop.call_site import CallSite
from penstock.spark.query import worker
from penstock.spark.query.processor import ROW_SCHEMA
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.pickling import pickle_elements, unpickle_program
from penstock.spark.session.slots import slot_labels

_ARROW_SCHEMA = pa.schema([("slot", pa.int32()), ("level", pa.int32()), ("blob", pa.binary())])


def to_arrow(bundles: Iterator[Bundle], parallelism: int) -> Iterator[pa.RecordBatch]:
    """Converts bundles to rows of Spark."""
    label = slot_labels(parallelism)
    for slot, level, blob in bundles:
        yield pa.record_batch(
            [pa.array([label[slot]], pa.int32()), pa.array([level], pa.int32()), pa.array([blob], pa.binary())],
            _ARROW_SCHEMA,
        )


def current_batch() -> int | None:
    """Returns the number of the batch of this task."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return None if number is None else int(number)


class TaskPartition(InputPartition):
    """One read task of a source. It is pickled, because Spark would copy the classes of elements in it."""

    def __init__(self, number: int, task: bytes, waiting: list[str]) -> None:
        super().__init__(number)
        self.task = task
        self.unread_splits = waiting


F = TypeVar("F", bound=Callable[..., Any])


def name_source_in_errors(method: F) -> F:
    """Decorates methods of a reader that call the source, so that errors name the source."""

    @wraps(method)
    def call(self: SparkSourceReader, *args: Any) -> Any:
        with wrap_errors():
            try:
                return method(self, *args)
            except Exception as error:
                raise self._site.error(error) from error

    return call  # type: ignore[return-value]


class SparkSourceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver and reads them on executors."""

    def __init__(self, folder: RunFolder, number: int) -> None:
        self._folder: RunFolder | None = folder
        self._run_folder = str(folder.path)
        self._number = number
        self._key, self._data = folder.read_program()
        program = unpickle_program(self._data)
        self._program: Program | None = program
        self._is_aligned = any(s.source == number and s.alignment is not None for s in program.streams)
        self._parallelism = program.parallelism
        self._source: Source | None = program.sources[number].source
        self._uid = program.sources[number].uid
        self._status: SplitStatus | None = None  # as reported last
        facts = folder.read_facts()
        self._paced = facts.paced
        self._buffer_timeout = BufferTimeout(facts.buffer_timeout)
        self._lag: int | None = None
        self._reported_position: Any = None  # id of the savepoint and offset that were reported last
        self._is_registered = False  # as a helper process
        self._site = CallSite(program.sources[number].name, self._uid, None, "Source")
        self._attach()

    @name_source_in_errors
    def _attach(self) -> None:
        assert self._source is not None
        assert self._folder is not None
        self._source.attach(self._folder.source_folder(self._uid))

    def __getstate__(self) -> dict[str, Any]:
        """Executors get the program, and nothing that belongs to the driver."""
        return {
            **self.__dict__,
            "_folder": None,
            "_source": None,
            "_status": None,
            "_reported_position": None,
            "_program": None,
            "_buffer_timeout": None,
        }

    @name_source_in_errors
    def initialOffset(self) -> dict[str, Any]:
        assert self._source is not None
        assert self._folder is not None
        saved: dict[str, Any] | None = self._folder.read_facts().source_offsets.get(self._number)
        return self._source.initial() if saved is None else self._source.restored(saved)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()  # sources have limits of their own

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing to prepare: the control source decides when the job ends."""

    @name_source_in_errors
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Plans the next batch. Everything before `start` is committed, so ended splits are reported here."""
        assert self._source is not None
        assert self._folder is not None
        self._register()
        self._source.committed(start)
        status = SplitStatus(self._source.splits(start), self._source.ended(start))
        if status != self._status:
            self._folder.write_split_status(self._number, status)
            self._status = status
        savepoint = self._folder.requested_savepoint()
        latest = start if savepoint is not None and savepoint.end else self._latest(start)
        if savepoint is not None and (savepoint.id, latest) != self._reported_position:
            self._folder.write_position(self._number, latest, self._source.position(latest))
            self._reported_position = savepoint.id, latest
        return latest

    def _register(self) -> None:
        """Registers this process. Spark creates readers in other processes too, which plan nothing."""
        assert self._folder is not None
        assert self._program is not None
        if not self._is_registered:
            self._is_registered = True
            name = self._program.sources[self._number].name
            self._folder.processes.begin(f"source-{self._number}", f"plans the batches of source '{name}'")

    def stop(self) -> None:
        if self._is_registered and self._folder is not None:
            self._folder.processes.end(f"source-{self._number}")

    def _latest(self, start: dict[str, Any]) -> dict[str, Any]:
        assert self._source is not None
        assert self._folder is not None
        if self._folder.stop_request() is not None:
            return start
        if self._paced and self._folder.is_pausing():
            return start
        assert self._program is not None
        limit = self._folder.record_limit() or self._program.max_records
        self._source.configure(ReadContext(limit, self._paused_splits() if self._is_aligned else frozenset()))
        end = self._buffer_timeout.admit(self._source, start, self._source.latest(start))
        if end != start and (lag := self._source.lag(end)) != self._lag:
            self._folder.write_lag(self._number, lag)
            self._lag = lag
        return end

    def _paused_splits(self) -> frozenset[str]:
        """The splits that watermark alignment holds back in the next batch."""
        assert self._folder is not None
        assert self._program is not None
        statuses = {s.number: self._folder.read_split_status(s.number) for s in self._program.sources}
        ended = {number: status.ended for number, status in statuses.items() if status is not None}
        return paused_splits(self._program, self._number, self._folder.read_alignment(), ended)

    @name_source_in_errors
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        assert self._source is not None
        tasks = self._source.plan(start, end, self._parallelism)
        waiting = self._source.waiting(end)
        return [TaskPartition(number, pickle_elements(task), waiting) for number, task in enumerate(tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        with wrap_errors(), worker.forward_logs(self._run_folder), worker.pause_garbage_collection():
            mapper = worker.get_mapper(self._key, self._data, self._number, partition.value)
            mapper.batch, mapper.worker = current_batch(), worker.worker_name()
            yield from to_arrow(mapper.run(pickle.loads(partition.task), partition.unread_splits), self._parallelism)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark stores the offsets."""


class PenstockSource(DataSource):
    """The data source of one source of a job. Options: `folder` of the run, number of the `source`."""

    @classmethod
    def name(cls) -> str:
        return "penstock_source"

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        with wrap_errors():
            return SparkSourceReader(RunFolder(self.options["folder"]), int(self.options["source"]))
