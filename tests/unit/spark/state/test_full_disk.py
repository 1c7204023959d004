"""A full disk fails the batch with a code, and nothing is lost: with space again, the same slot goes on."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.errors import CheckpointError, StateError, UserFunctionError
from penstock.spark.checkpoint import open_checkpoint
from penstock.spark.working_copy import WorkingCopy
from penstock.testing import Harness, PushSource
from tests.errors.test_checkpoint import options, program
from tests.spark.test_statelog import Slot


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file of this process can grow beyond a size: what a full disk is like, without one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def grow(slot: Slot, first: int) -> int:
    """Batches until one fails; gives its number."""
    for number in range(first, first + 200):
        slot.batch({b"%05d-%03d" % (number, i): os.urandom(500) for i in range(40)})
    raise AssertionError("the disk was never full")


def test_the_working_copy_on_a_full_disk(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"first": b"1"})
    with files_up_to(400_000), pytest.raises(StateError) as told:
        grow(slot, 0)
    assert told.value.code == "LOCAL_STATE_DISK"
    assert str(tmp_path / "a") in told.value.text
    assert "nothing is lost, the state is in the checkpoint" in told.value.text
    slot.copies.clear()
    assert slot.batch({b"last": b"1"}) == {k: v for k, v in slot.expected.items() if k != b"last"}
    assert slot.batch({}) == slot.expected


def test_a_working_copy_that_cannot_even_begin(tmp_path: Path) -> None:
    (tmp_path / "local").write_text("a file")
    slot = Slot(tmp_path / "local")
    with pytest.raises(StateError, match="LOCAL_STATE_DISK"):
        slot.batch({b"k": b"v"})


def test_the_working_copy_at_its_own_limit(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.copies["a"] = WorkingCopy(str(tmp_path / "a"), 300_000)
    with pytest.raises(StateError) as told:
        grow(slot, 0)
    assert told.value.code == "LOCAL_STATE_FULL"
    assert "state.local.size-limit" in told.value.text
    slot.copies.clear()
    assert slot.batch({}) == slot.expected


def test_a_new_checkpoint_on_a_full_disk(tmp_path: Path) -> None:
    with files_up_to(10), pytest.raises(CheckpointError) as told:
        open_checkpoint(program(), options(execution_checkpointing_dir=tmp_path))
    assert told.value.code == "CHECKPOINT_UNWRITABLE"
    assert "File too large" in told.value.text


def test_a_sink_on_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).sink_to(
        JsonLinesSink(tmp_path)
    ).name("lines")
    harness = Harness(env, real_sinks=True)
    harness.push(("a", 1))
    with files_up_to(100), pytest.raises(UserFunctionError) as told:
        harness.push(("a" * 5000, 2))
    assert told.value.code == "SINK_FAILED"
    assert "Sink 'lines' raised OSError: [Errno 27] File too large" in told.value.text
    left = [f.name for f in tmp_path.rglob("*") if f.is_file()]
    assert [name[:20] for name in left] == ["part-000000000-00000"], "nothing half written is left"
    harness.push_all([("a", 2), ("a" * 5000, 2)])
    lines = sorted(line for file in tmp_path.glob("part-*.jsonl") for line in file.read_text().splitlines())
    assert lines == sorted(['["a",1]', '["a",3]', f'["{"a" * 5000}",2]'])
