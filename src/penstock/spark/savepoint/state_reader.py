"""Reads the state of a checkpoint: in tasks, a slot in each, as the files of a savepoint; or into memory, for tests.

Spark hands a slot's header, deltas and base out in no order. A task puts them on its disk, builds a working copy of them as
a worker that lost its own does, and writes that copy's entries in their order: what is in memory is one chunk.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.config import Configuration
from penstock.connectors.file.system import absolute, file_system
from penstock.engine.slot_meta import SlotMeta
from penstock.errors import CheckpointError
from penstock.savepoints import SavedOperator, SavedSource, Savepoint, publish
from penstock.savepoints.collected import manifest_of
from penstock.savepoints.part import Part, SlotPlace, in_chunks, write_file
from penstock.savepoints.saved_job import JobFacts, SavedJob
from penstock.spark.checkpoint import job_memory
from penstock.spark.failure import carrying, in_our_words
from penstock.spark.session import get_session
from penstock.spark.slots import slots
from penstock.spark.spark_log import last_commit, offsets_of
from penstock.spark.statelog import KeyValue, all_chunks, read_header
from penstock.spark.working_copy import WorkingCopy

_MOST = 1 << 40  # bytes of a working copy that lives as long as a task


class DictStore:
    """A slot's part of Spark's state store, read into memory."""

    def __init__(self, entries: dict[str, bytes]) -> None:
        self._entries = entries

    def get(self, key: str) -> bytes | None:
        return self._entries.get(key)

    def put(self, key: str, value: bytes) -> None:
        self._entries[key] = value

    def remove(self, key: str) -> None:
        self._entries.pop(key, None)


class FileStore:
    """The same in files of a folder: one per chunk."""

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


SlotState = tuple[SlotMeta, dict[bytes, bytes]]


def read_state(
    session: SparkSession, folder: str, parallelism: int, levels: int, batch: int | None = None
) -> dict[tuple[int, int], SlotState]:
    """Clocks and entries by (level, slot), in memory."""
    found: dict[tuple[int, int], SlotState] = {}
    for level in range(1, levels + 1):
        by_slot: dict[int, dict[str, bytes]] = {}
        for label, key, value in _logs(session, folder, level, levels, batch).collect():
            by_slot.setdefault(slots(parallelism)[label], {})[key] = bytes(value)
        for slot, entries in by_slot.items():
            found[level, slot] = _slot_state(entries)
    return found


def _logs(session: SparkSession, folder: str, level: int, levels: int, batch: int | None) -> DataFrame:
    """What the slots of a level have in Spark's state store: label, key, value."""
    _ = session.streams  # starts Spark's coordinator of state stores, which reading needs
    # Spark numbers stateful operators from the sink's end on.
    reader = session.read.format("statestore").option("operatorId", levels - level).option("stateVarName", "log")
    if batch is not None:
        reader = reader.option("batchId", batch)
    return reader.load(folder).select("key.slot", "user_map_key.k", "user_map_value.v")


def _slot_state(stored: dict[str, bytes]) -> SlotState:
    header = read_header(stored["h"])
    entries: dict[bytes, bytes] = {}
    for changes in all_chunks(DictStore(stored), header):
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
    return msgspec.msgpack.decode(header.meta, type=SlotMeta), entries


# -- as a savepoint


def checkpoint_as_savepoint(
    folder: str, target: str, configuration: Configuration | None = None, batch: int | None = None
) -> Savepoint:
    """The state of a checkpoint as of a committed batch (the last one), as a savepoint in `target`.

    Sources stand where the checkpoint's offsets do, in the words of the source itself.
    """
    session = get_session(configuration or Configuration())
    memory = job_memory(folder)
    batch = last_commit(folder) if batch is None else batch
    if batch < 0:
        raise CheckpointError(
            "CHECKPOINT_EMPTY", f"The checkpoint {folder} holds no committed batch: there is no state to read."
        )
    target, spark, levels = absolute(target).rstrip("/"), str(Path(folder, "spark")), memory["levels"]
    control, *offsets = offsets_of(folder, batch)
    job = _saved_job(memory, offsets)
    parts: list[Part] = []
    try:
        for level in range(1, levels + 1):
            write = _PartWriter(target, level, job)
            written = _logs(session, spark, level, levels, batch).mapInArrow(write, "part binary").collect()
            parts += [msgspec.json.decode(bytes(row.part), type=Part) for row in written]
    except PySparkException as error:
        raise in_our_words(error) from error
    facts = JobFacts(
        memory["job_id"],
        batch,
        control,
        lineage=memory.get("lineage", ""),
        checkpoint=folder,
        spark=pyspark.__version__,
        notes={"made from": f"the checkpoint {folder}"},
    )
    return publish(target, manifest_of(job, parts, facts))


class _PartWriter:
    """Writes the files of a savepoint, one of each slot that a task is given."""

    def __init__(self, target: str, level: int, job: SavedJob) -> None:
        self._target = target
        self._level = level
        self._parallelism = job.parallelism
        self._max_parallelism = job.max_parallelism
        self._widths = job.widths()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying(), tempfile.TemporaryDirectory(prefix="penstock-read-") as local:
            stores: dict[int, FileStore] = {}
            for batch in batches:
                for label, key, value in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    slot = slots(self._parallelism)[label]
                    if slot not in stores:
                        Path(local, str(slot)).mkdir()
                        stores[slot] = FileStore(f"{local}/{slot}")
                    stores[slot].put(key, value)
            parts = [msgspec.json.encode(self._write(slot, store, local)) for slot, store in stores.items()]
        yield pa.RecordBatch.from_pydict({"part": pa.array(parts, pa.binary())})

    def _write(self, slot: int, store: KeyValue, local: str) -> Part:
        data = store.get("h")
        assert data is not None
        header = read_header(data)
        copy = WorkingCopy(f"{local}/copy-{slot}", _MOST)
        copy.rebuild(all_chunks(store, header), header.seq, header.token)
        view = copy.view()
        try:
            name = f"{self._level}-{slot}-{uuid.uuid4().hex[:8]}"
            meta = msgspec.msgpack.decode(header.meta, type=SlotMeta)
            place = SlotPlace(self._level, slot, self._widths, self._max_parallelism)
            return write_file(file_system(self._target), self._target, name, place, meta, in_chunks(view.scan))
        finally:
            view.close()
            copy.close()


def _saved_job(memory: dict[str, Any], offsets: list[Any]) -> SavedJob:
    """The job as its checkpoint remembers it."""
    parallelism = memory["parallelism"]
    operators = [
        SavedOperator(
            o["uid"],
            o["name"],
            o["kind"],
            o["keyed"],
            o.get("parallelism", parallelism),
            key_type=memory.get("key_types", {}).get(o["uid"]),
        )
        for o in memory["operators"]
    ]
    sources = [
        SavedSource(s["uid"], s.get("name", s["uid"]), s["kind"], number, offset)
        for number, (s, offset) in enumerate(zip(memory["sources"], offsets, strict=False))
    ]
    return SavedJob(memory["name"], parallelism, memory["max_parallelism"], operators, sources, [])
