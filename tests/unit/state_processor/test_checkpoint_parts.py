"""A task writes a savepoint part from the entries of a slot in Spark's state store, in any order and after any compaction."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from penstock.connectors.file.system.file_system import file_system
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.runtime.state.tables import StateTable
from penstock.savepoints import StateFileReader
from penstock.savepoints.saved_job import SavedJob
from penstock.savepoints.slot_part import SavepointPart
from penstock.spark.savepoint.state_reader import _PartWriter
from penstock.spark.session.error_transport import TransportedError
from penstock.spark.session.slots import slot_labels
from penstock.spark.state.compaction import CompactionPolicy
from penstock.spark.state.state_log import StateLog
from penstock.spark.state.working_copy import WorkingCopy
from tests.unit.spark.state.dict_store import DictStore

PARALLELISM = 2
JOB = SavedJob("counts", PARALLELISM, 8, [], [], [])
EAGER = CompactionPolicy(fraction=0.5, least=200, ratio=2.0)


def stored(folder: Path, slot: int, batches: int) -> tuple[dict[str, bytes], dict[bytes, bytes]]:
    """The state store of a slot after some batches, and the entries that it represents."""
    chosen = random.Random(slot)
    store: dict[str, bytes] = {}
    copy = WorkingCopy(str(folder / f"copy-{slot}"), 1 << 30)
    meta = SlotMetadata(batch=batches, tables=[StateTable(1, "counts", "count", "value", "pickle")])
    entries: dict[bytes, bytes] = {}
    for number in range(batches):
        changes: dict[bytes, bytes | None] = {}
        for _ in range(20):
            key = b"\x00\x01" + slot.to_bytes(2, "big") + chosen.randbytes(1)
            changes[key] = None if chosen.random() < 0.3 else b"%d" % number * 10
        log = StateLog(DictStore(store), copy, EAGER)
        log.begin()
        log.commit(changes, msgspec.msgpack.encode(meta))
        log.end()
        log.update_copy()
        copy.wait_until_applied()  # only what it has taken is folded
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
    copy.close()
    return store, entries


def rows(slots: dict[int, dict[str, bytes]]) -> list[pa.RecordBatch]:
    """The batches that Spark passes, in any order."""
    label = slot_labels(PARALLELISM)
    found = [(label[slot], key, value) for slot, store in slots.items() for key, value in store.items()]
    random.Random(1).shuffle(found)
    parts = [found[at : at + 7] for at in range(0, len(found), 7)]
    return [
        pa.RecordBatch.from_arrays([pa.array(c) for c in zip(*part, strict=True)], ["slot", "k", "v"]) for part in parts
    ]


def test_a_task_writes_the_entries_of_the_log(tmp_path: Path) -> None:
    slots = {slot: stored(tmp_path, slot, 30) for slot in range(PARALLELISM)}
    target = str(tmp_path / "savepoint")
    write = _PartWriter(target, 1, JOB)
    (out,) = write(iter(rows({slot: store for slot, (store, _) in slots.items()})))
    parts = [msgspec.json.decode(p, type=SavepointPart) for p in out.column("part").to_pylist()]
    assert [p.level for p in parts] == [1, 1]
    assert {msgspec.json.decode(p.meta, type=SlotMetadata).batch for p in parts} == {30}
    found: dict[bytes, bytes] = {}
    for part in parts:
        with StateFileReader(file_system(target), target, part.file) as reader:
            for block in reader.blocks:
                flat = reader.read(block)
                assert flat[::2] == sorted(flat[::2])
                found.update(zip(flat[::2], flat[1::2], strict=True))
    expected = {key[2:]: value for _, entries in slots.values() for key, value in entries.items()}
    assert found == expected
    assert any(key.startswith("b/") for store, _ in slots.values() for key in store), "some of it was folded"


def test_an_incomplete_log_is_refused(tmp_path: Path) -> None:
    store, _ = stored(tmp_path, 0, 5)
    del store[next(key for key in store if key.startswith(("d/", "b/")))]
    with pytest.raises(TransportedError, match="STATE_MISSING") as error:
        list(_PartWriter(str(tmp_path / "savepoint"), 1, JOB)(iter(rows({0: store}))))
    assert not isinstance(error.value, CheckpointError)
