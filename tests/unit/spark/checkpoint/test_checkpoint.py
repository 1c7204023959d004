"""A checkpoint that cannot be used: each cause has its own code, and the folder stays as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.engine.program import Program, build
from penstock.errors import CheckpointError, StateError
from penstock.spark.checkpoint import open_checkpoint


def program(uid: str = "total", parallelism: int = 2, key_type: Any = None) -> Program:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    env.from_collection([("a", 1)]).key_by(lambda v: v[0], key_type=key_type).reduce(max).uid(uid).print()
    return build(env.graph())


def options(**given: Any) -> ps.Configuration:
    return ps.Configuration({k.replace("_", "."): str(v) for k, v in given.items()})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return Path(open_checkpoint(program(), options(execution_checkpointing_dir=tmp_path)).folder)


def refused(folder: Path, of: Program) -> CheckpointError:
    before = {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    with pytest.raises(CheckpointError) as told:
        open_checkpoint(of, options(execution_resume=folder))
    assert {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()} == before
    return told.value


def test_the_same_program_is_taken(checkpoint: Path) -> None:
    assert open_checkpoint(program(), options(execution_resume=checkpoint)).resumed


def test_of_another_job(checkpoint: Path) -> None:
    told = refused(checkpoint, program(uid="sum", parallelism=3))
    assert told.code == "CHECKPOINT_OF_ANOTHER_JOB"
    for words in ("parallelism was 2 and is now 3", "operator 'total' is gone", "operator 'sum' is new"):
        assert words in told.text


TEXT = ps.Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old))


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (tuple[int, str], tuple[int, str, int | None], "[2] was added; it is None"),
        (ps.Types.LONG(), ps.Types.STRING(), "LONG cannot become str by itself"),
        (ps.Types.LONG(), TEXT, "version 1 becomes 2 by its migrate function"),
        (None, TEXT, "version 1 becomes 2 by its migrate function"),
    ],
)
def test_with_keys_that_would_have_to_be_rewritten(tmp_path: Path, before: Any, now: Any, told: str) -> None:
    first = open_checkpoint(program(key_type=before), options(execution_checkpointing_dir=tmp_path))
    with pytest.raises(StateError, match=r"The keys of operator 'total'.*--from-savepoint") as raised:
        open_checkpoint(program(key_type=now), options(execution_resume=first.folder))
    assert raised.value.code == "STATE_CHANGED"
    assert told in raised.value.text


@pytest.mark.parametrize(
    ("before", "now"), [(ps.Types.INT(), ps.Types.LONG()), (int, float), (TEXT, TEXT), (None, str), (str, None)]
)
def test_with_keys_that_keep_their_bytes(tmp_path: Path, before: Any, now: Any) -> None:
    first = open_checkpoint(program(key_type=before), options(execution_checkpointing_dir=tmp_path))
    assert open_checkpoint(program(key_type=now), options(execution_resume=first.folder)).resumed


def test_not_a_checkpoint(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing", program()).code == "NO_CHECKPOINT"
    (tmp_path / "penstock").write_text("a file")
    assert refused(tmp_path, program()).code == "NO_CHECKPOINT"


@pytest.mark.parametrize("text", ["", '{"format": 1', "[]", "{}", json.dumps({"format": 1, "job_id": "x"})])
def test_damaged(checkpoint: Path, text: str) -> None:
    (checkpoint / "penstock" / "job.json").write_text(text)
    assert refused(checkpoint, program()).code == "CHECKPOINT_DAMAGED"


def test_unreadable(checkpoint: Path) -> None:
    file = checkpoint / "penstock" / "job.json"
    file.unlink()
    file.mkdir()
    assert refused(checkpoint, program()).code == "CHECKPOINT_UNREADABLE"


def test_of_a_newer_penstock(checkpoint: Path) -> None:
    file = checkpoint / "penstock" / "job.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    assert "it has format 99" in refused(checkpoint, program()).text


def test_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="CHECKPOINT_UNWRITABLE") as told:
        open_checkpoint(program(), options(execution_checkpointing_dir=tmp_path / "file"))
    assert str(tmp_path / "file") in told.value.text
    assert os.listdir(tmp_path) == ["file"]
