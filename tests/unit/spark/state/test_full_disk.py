"""A full disk fails the batch with an error code. Nothing is lost; the slot continues when there is space again."""

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
from penstock.jobs.checkpoint.checkpoint import open_checkpoint
from penstock.spark.state.working_copy import WorkingCopy
from penstock.testing import Harness, PushSource
from tests.unit.spark.checkpoint.test_checkpoint import options, program
from tests.unit.spark.state.test_state_log import Slot


@contextmanager
def limit_file_size(size: int) -> Iterator[None]:
    """Limits the size of all files of this process, to simulate a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def grow(slot: Slot, first: int) -> int:
    """Runs batches until one fails."""
    for number in range(first, first + 200):
        slot.batch({b"%05d-%03d" % (number, i): os.urandom(500) for i in range(40)})
    raise AssertionError("no batch failed")


def test_the_working_copy_on_a_full_disk(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"first": b"1"})
    with limit_file_size(400_000), pytest.raises(StateError) as caught:
        grow(slot, 0)
    assert caught.value.code == "LOCAL_STATE_DISK"
    assert str(tmp_path / "a") in caught.value.text
    assert "Nothing is lost, because the state is in the checkpoint" in caught.value.text
    slot.copies.clear()
    assert slot.batch({b"last": b"1"}) == {k: v for k, v in slot.expected.items() if k != b"last"}
    assert slot.batch({}) == slot.expected


def test_a_working_copy_whose_folder_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "local").write_text("a file")
    slot = Slot(tmp_path / "local")
    with pytest.raises(StateError, match="LOCAL_STATE_DISK"):
        slot.batch({b"k": b"v"})


def test_the_working_copy_at_its_size_limit(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.copies["a"] = WorkingCopy(str(tmp_path / "a"), 300_000)
    with pytest.raises(StateError) as caught:
        grow(slot, 0)
    assert caught.value.code == "LOCAL_STATE_FULL"
    assert "state.local.size-limit" in caught.value.text
    slot.copies.clear()
    assert slot.batch({}) == slot.expected


def test_a_new_checkpoint_on_a_full_disk(tmp_path: Path) -> None:
    with limit_file_size(10), pytest.raises(CheckpointError) as caught:
        open_checkpoint(program(), options(execution_checkpointing_dir=tmp_path))
    assert caught.value.code == "CHECKPOINT_UNWRITABLE"
    assert "File too large" in caught.value.text


def test_a_sink_on_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).sink_to(
        JsonLinesSink(tmp_path)
    ).name("lines")
    harness = Harness(env, real_sinks=True)
    harness.push(("a", 1))
    with limit_file_size(100), pytest.raises(UserFunctionError) as caught:
        harness.push(("a" * 5000, 2))
    assert caught.value.code == "SINK_FAILED"
    assert "Sink 'lines' raised OSError: [Errno 27] File too large" in caught.value.text
    left = [f.name for f in tmp_path.rglob("*") if f.is_file()]
    assert [name[:20] for name in left] == ["part-000000000-00000"], "no partly written file is left"
    harness.push_all([("a", 2), ("a" * 5000, 2)])
    lines = sorted(line for file in tmp_path.glob("part-*.jsonl") for line in file.read_text().splitlines())
    assert lines == sorted(['["a",1]', '["a",3]', f'["{"a" * 5000}",2]'])
