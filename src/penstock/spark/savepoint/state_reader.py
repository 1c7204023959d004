"""Writes the state of a checkpoint as a savepoint, in Spark tasks, one slot per file.

Spark returns the header, the deltas and the base snapshot of a slot in no order. A task stores them on its disk, builds a
working copy from them, and writes the entries of the copy in order. So only one chunk is in memory.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.config import Configuration
from penstock.connectors.file.system.file_system import absolute_path, file_system
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.job_description import read_job_description, saved_job
from penstock.savepoints import Savepoint, publish
from penstock.savepoints.saved_job import SavedJob, SavepointInfo
from penstock.savepoints.slot_part import SavepointPart, SlotAssignment, chunked_scan, write_entries
from penstock.savepoints.writing import build_manifest
from penstock.spark.checkpoint.spark_log import last_committed_batch, read_offsets
from penstock.spark.session.error_transport import translate_error, wrap_errors
from penstock.spark.session.session import get_session
from penstock.spark.session.slots import slots_by_label
from penstock.spark.state.state_format import HEADER_KEY, KeyValueStore, read_all_changes, read_header
from penstock.spark.state.working_copy import WorkingCopy

_COPY_LIMIT = 1 << 40  # bytes of a working copy that exists only during a task


class FileStore:
    """The stored state of a slot in the files of a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def get(self, key: str) -> bytes | None:
        try:
            return self._file(key).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, key: str, value: bytes) -> None:
        self._file(key).write_bytes(value)

    def remove(self, key: str) -> None:
        self._file(key).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self._folder / quote(key, safe="")


def read_logs(session: SparkSession, folder: str, level: int, levels: int, batch: int | None) -> DataFrame:
    """Reads the stored state of all slots of a level: rows of slot label, key and value."""
    _ = session.streams  # starts the coordinator of state stores, which the reader needs
    # Spark numbers stateful operators from the sink backwards.
    reader = session.read.format("statestore").option("operatorId", levels - level).option("stateVarName", "log")
    if batch is not None:
        reader = reader.option("batchId", batch)
    return reader.load(folder).select("key.slot", "user_map_key.k", "user_map_value.v")


def checkpoint_as_savepoint(
    folder: str, target: str, configuration: Configuration | None = None, batch: int | None = None
) -> Savepoint:
    """Writes the state of a checkpoint after a committed batch, by default the last one, as a savepoint into `target`.

    The positions of sources are the offsets in the checkpoint.
    """
    session = get_session(configuration or Configuration())
    description = read_job_description(folder)
    batch = last_committed_batch(folder) if batch is None else batch
    if batch < 0:
        raise CheckpointError(
            "CHECKPOINT_EMPTY", f"The checkpoint {folder} has no committed batch, so it has no state to read."
        )
    target, spark, levels = absolute_path(target).rstrip("/"), str(Path(folder, "spark")), description.levels
    control, *offsets = read_offsets(folder, batch)
    job = saved_job(description, offsets)
    parts: list[SavepointPart] = []
    try:
        for level in range(1, levels + 1):
            write = _PartWriter(target, level, job)
            written = read_logs(session, spark, level, levels, batch).mapInArrow(write, "part binary").collect()
            parts += [msgspec.json.decode(bytes(row.part), type=SavepointPart) for row in written]
    except PySparkException as error:
        raise translate_error(error) from error
    info = SavepointInfo(
        description.job_id,
        batch,
        control,
        lineage=description.lineage,
        checkpoint=folder,
        spark=pyspark.__version__,
        notes={"made from": f"the checkpoint {folder}"},
    )
    return publish(target, build_manifest(job, parts, info))


class _PartWriter:
    """Writes the files of a savepoint in tasks, one file per slot."""

    def __init__(self, target: str, level: int, job: SavedJob) -> None:
        self._target = target
        self._level = level
        self._parallelism = job.parallelism
        self._max_parallelism = job.max_parallelism
        self._widths = job.widths()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with wrap_errors(), tempfile.TemporaryDirectory(prefix="penstock-read-") as local:
            stores: dict[int, FileStore] = {}
            for batch in batches:
                for label, key, value in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    slot = slots_by_label(self._parallelism)[label]
                    if slot not in stores:
                        Path(local, str(slot)).mkdir()
                        stores[slot] = FileStore(f"{local}/{slot}")
                    stores[slot].put(key, value)
            parts = [msgspec.json.encode(self._write(slot, store, local)) for slot, store in stores.items()]
        yield pa.RecordBatch.from_pydict({"part": pa.array(parts, pa.binary())})

    def _write(self, slot: int, store: KeyValueStore, local: str) -> SavepointPart:
        data = store.get(HEADER_KEY)
        assert data is not None
        header = read_header(data)
        copy = WorkingCopy(f"{local}/copy-{slot}", _COPY_LIMIT)
        copy.rebuild(read_all_changes(store, header), header.seq, header.token)
        view = copy.view()
        try:
            name = f"{self._level}-{slot}-{uuid.uuid4().hex[:8]}"
            meta = msgspec.msgpack.decode(header.meta, type=SlotMetadata)
            assignment = SlotAssignment(self._level, slot, self._widths, self._max_parallelism)
            return write_entries(
                file_system(self._target), self._target, name, assignment, meta, chunked_scan(view.scan)
            )
        finally:
            view.close()
            copy.close()
