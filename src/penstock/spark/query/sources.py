"""Our sources as Spark's Python data sources: the mapper runs inside `read`, so records never cross the JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from penstock.connectors.source import Source
from penstock.engine.alignment import paused_splits
from penstock.engine.frames import Bundle
from penstock.engine.program import Program
from penstock.runtime.call_site import CallSite
from penstock.spark import worker
from penstock.spark.failure import carrying
from penstock.spark.pickling import unpickle_program
from penstock.spark.processor import ROW_SCHEMA
from penstock.spark.run_folder import RunFolder
from penstock.spark.slots import labels

_ARROW_SCHEMA = pa.schema([("slot", pa.int32()), ("level", pa.int32()), ("blob", pa.binary())])


def to_arrow(bundles: Iterator[Bundle], parallelism: int) -> Iterator[pa.RecordBatch]:
    """Bundles as Spark's rows."""
    label = labels(parallelism)
    for slot, level, blob in bundles:
        yield pa.record_batch(
            [pa.array([label[slot]], pa.int32()), pa.array([level], pa.int32()), pa.array([blob], pa.binary())],
            _ARROW_SCHEMA,
        )


def running_batch() -> int | None:
    """The number of the batch that a task runs in."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return None if number is None else int(number)


class TaskPartition(InputPartition):
    """One task of a source."""

    def __init__(self, number: int, task: Any, waiting: list[str]) -> None:
        super().__init__(number)
        self.task = task
        self.waiting = waiting


F = TypeVar("F", bound=Callable[..., Any])


def of_source(method: F) -> F:
    """A method of a reader that asks the source: what that raises is told with the source's name."""

    @wraps(method)
    def call(self: SourceReader, *args: Any) -> Any:
        with carrying():
            try:
                return method(self, *args)
            except Exception as error:
                raise self._site.error(error) from error

    return call  # type: ignore[return-value]


class SourceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver, reads on executors."""

    def __init__(self, folder: RunFolder, number: int) -> None:
        self._folder: RunFolder | None = folder
        self._run_folder = str(folder.path)
        self._number = number
        self._key, self._data = folder.program()
        program = unpickle_program(self._data)
        self._program: Program | None = program
        self._aligned = any(s.source == number and s.alignment is not None for s in program.streams)
        self._parallelism = program.parallelism
        self._source: Source | None = program.sources[number].source
        self._uid = program.sources[number].uid
        self._told: Any = None
        self._paced = bool(folder.facts().get("paced"))
        self._lag: int | None = None
        self._positioned: Any = None  # the savepoint and the offset that were told last
        self._site = CallSite(program.sources[number].name, self._uid, None, "Source")
        self._attach()

    @of_source
    def _attach(self) -> None:
        assert self._source is not None
        assert self._folder is not None
        self._source.attach(self._folder.lasting(self._uid))

    def __getstate__(self) -> dict[str, Any]:
        """What executors get: the program, nothing of the driver's."""
        return {**self.__dict__, "_folder": None, "_source": None, "_told": None, "_positioned": None, "_program": None}

    @of_source
    def initialOffset(self) -> dict[str, Any]:
        assert self._source is not None
        assert self._folder is not None
        saved: dict[str, Any] | None = self._folder.facts()["offsets"].get(str(self._number))
        return self._source.initial() if saved is None else self._source.restored(saved)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()  # sources admit by their own limits

    def prepareForTriggerAvailableNow(self) -> None:
        """Jobs end by the control source, not by this trigger."""

    @of_source
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """What is planned was committed up to `start`: so this is the place to tell which splits have ended."""
        assert self._source is not None
        assert self._folder is not None
        self._source.committed(start)
        told = {"splits": self._source.splits(start), "ended": self._source.ended(start)}
        if told != self._told:
            self._folder.tell_source(self._number, told)
            self._told = told
        saving = self._folder.savepoint_asked()
        latest = start if saving is not None and saving.end else self._latest(start)
        if saving is not None and (saving.id, latest) != self._positioned:
            self._folder.tell_position(self._number, latest, self._source.position(latest))
            self._positioned = saving.id, latest
        return latest

    def _latest(self, start: dict[str, Any]) -> dict[str, Any]:
        assert self._source is not None
        assert self._folder is not None
        if self._folder.stop_asked() is not None:
            return start
        if self._paced and self._folder.resting():
            return start
        if self._aligned:
            assert self._program is not None
            report = self._folder.report()
            self._source.paused = paused_splits(self._program, self._number, report["marks"] if report else {})
        if (records := self._folder.limit()) is not None and self._source.records_per_batch is not None:
            self._source.records_per_batch = records
        end = self._source.latest(start)
        if end != start and (lag := self._source.lag(end)) != self._lag:
            self._folder.tell_lag(self._number, lag)
            self._lag = lag
        return end

    @of_source
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        assert self._source is not None
        tasks = self._source.plan(start, end, self._parallelism)
        waiting = self._source.waiting(end)
        return [TaskPartition(number, task, waiting) for number, task in enumerate(tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        with carrying(), worker.heard_logs(self._run_folder), worker.no_garbage_collection():
            mapper = worker.mapper_of(self._key, self._data, self._number, partition.value)
            mapper.batch, mapper.worker = running_batch(), worker.name()
            yield from to_arrow(mapper.run(partition.task, partition.waiting), self._parallelism)

    def commit(self, end: dict[str, Any]) -> None:
        """Offsets are Spark's to keep."""


class PenstockSource(DataSource):
    """Options: `folder` of the run, `source` number in the program."""

    @classmethod
    def name(cls) -> str:
        return "penstock_source"

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return SourceReader(RunFolder(self.options["folder"]), int(self.options["source"]))
