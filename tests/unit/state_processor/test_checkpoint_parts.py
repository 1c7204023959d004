"""A task makes a part of a savepoint of what Spark's state store holds of a slot: in any order, whatever was folded."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from penstock.connectors.file.system import file_system
from penstock.engine.slot_meta import SlotMeta
from penstock.errors import CheckpointError
from penstock.runtime.state.backend import Table
from penstock.savepoints import StateFileReader
from penstock.savepoints.part import Part
from penstock.savepoints.saved_job import SavedJob
from penstock.spark.failure import CarriedError
from penstock.spark.slots import labels
from penstock.spark.state_reader import DictStore, _PartWriter
from penstock.spark.statelog import FoldPolicy, StateLog
from penstock.spark.working_copy import WorkingCopy

PARALLELISM = 2
JOB = SavedJob("counts", PARALLELISM, 8, [], [], [])
EAGER = FoldPolicy(fraction=0.5, least=200, ratio=2.0)


def stored(folder: Path, slot: int, batches: int) -> tuple[dict[str, bytes], dict[bytes, bytes]]:
    """A slot's part of the state store after some batches, and what it means."""
    chosen = random.Random(slot)
    store: dict[str, bytes] = {}
    copy = WorkingCopy(str(folder / f"copy-{slot}"), 1 << 30)
    meta = SlotMeta(batch=batches, tables=[Table(1, "counts", "count", "value", "pickle")])
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
        log.settle()
        copy.settled()  # only what it has taken is folded
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
    copy.close()
    return store, entries


def rows(slots: dict[int, dict[str, bytes]]) -> list[pa.RecordBatch]:
    """As Spark hands them out: in no order, some at a time."""
    label = labels(PARALLELISM)
    found = [(label[slot], key, value) for slot, store in slots.items() for key, value in store.items()]
    random.Random(1).shuffle(found)
    parts = [found[at : at + 7] for at in range(0, len(found), 7)]
    return [
        pa.RecordBatch.from_arrays([pa.array(c) for c in zip(*part, strict=True)], ["slot", "k", "v"]) for part in parts
    ]


def test_a_task_writes_what_the_log_means(tmp_path: Path) -> None:
    slots = {slot: stored(tmp_path, slot, 30) for slot in range(PARALLELISM)}
    target = str(tmp_path / "savepoint")
    write = _PartWriter(target, 1, JOB)
    (out,) = write(iter(rows({slot: store for slot, (store, _) in slots.items()})))
    parts = [msgspec.json.decode(p, type=Part) for p in out.column("part").to_pylist()]
    assert [p.level for p in parts] == [1, 1]
    assert {msgspec.json.decode(p.meta, type=SlotMeta).batch for p in parts} == {30}
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


def test_a_log_that_lacks_a_part_is_told(tmp_path: Path) -> None:
    store, _ = stored(tmp_path, 0, 5)
    del store[next(key for key in store if key.startswith(("d/", "b/")))]
    with pytest.raises(CarriedError, match="STATE_MISSING") as error:
        list(_PartWriter(str(tmp_path / "savepoint"), 1, JOB)(iter(rows({0: store}))))
    assert not isinstance(error.value, CheckpointError)
