"""Resuming a checkpoint: each cause of a refusal has its own code, and the folder is not changed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.engine.program.builder import build_program
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError, StateError
from penstock.jobs.checkpoint.checkpoint import open_checkpoint


def program(uid: str = "total", parallelism: int = 2, key_type: Any = None) -> Program:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    env.from_collection([("a", 1)]).key_by(lambda v: v[0], key_type=key_type).reduce(max).uid(uid).print()
    return build_program(env.graph())


def options(**values: Any) -> ps.Configuration:
    return ps.Configuration({k.replace("_", "."): str(v) for k, v in values.items()})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return Path(open_checkpoint(program(), options(execution_checkpointing_dir=tmp_path)).folder)


def refusal(folder: Path, resuming: Program) -> CheckpointError:
    before = {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    with pytest.raises(CheckpointError) as raised:
        open_checkpoint(resuming, options(execution_resume=folder))
    assert {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()} == before
    return raised.value


def test_the_same_program_resumes(checkpoint: Path) -> None:
    assert open_checkpoint(program(), options(execution_resume=checkpoint)).resumed


def test_another_program_is_refused(checkpoint: Path) -> None:
    error = refusal(checkpoint, program(uid="sum", parallelism=3))
    assert error.code == "CHECKPOINT_OF_ANOTHER_JOB"
    for text in ("parallelism was 2 and is now 3", "operator 'total' is gone", "operator 'sum' is new"):
        assert text in error.text


TEXT = ps.Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old))


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (tuple[int, str], tuple[int, str, int | None], "[2] was added; it is None"),
        (ps.Types.LONG(), ps.Types.STRING(), "LONG cannot be converted to str automatically"),
        (ps.Types.LONG(), TEXT, "version 1 is converted to 2 by its migrate function"),
        (int, float, "int became float, checked value by value"),
        (None, TEXT, "version 1 is converted to 2 by its migrate function"),
    ],
)
def test_keys_that_would_be_rewritten_are_refused(tmp_path: Path, before: Any, now: Any, message: str) -> None:
    first = open_checkpoint(program(key_type=before), options(execution_checkpointing_dir=tmp_path))
    with pytest.raises(StateError, match=r"The keys of operator 'total'.*--from-savepoint") as raised:
        open_checkpoint(program(key_type=now), options(execution_resume=first.folder))
    assert raised.value.code == "STATE_CHANGED"
    assert message in raised.value.text


@pytest.mark.parametrize(
    ("before", "now"), [(ps.Types.INT(), ps.Types.LONG()), (ps.Types.INT(), float), (TEXT, TEXT), (None, str)]
)
def test_keys_with_the_same_encoding_resume(tmp_path: Path, before: Any, now: Any) -> None:
    first = open_checkpoint(program(key_type=before), options(execution_checkpointing_dir=tmp_path))
    assert open_checkpoint(program(key_type=now), options(execution_resume=first.folder)).resumed


def test_keys_whose_type_is_not_declared_anymore_are_refused(tmp_path: Path) -> None:
    first = open_checkpoint(program(key_type=str), options(execution_checkpointing_dir=tmp_path))
    with pytest.raises(StateError, match=r"had the declared type str.*key_by") as raised:
        open_checkpoint(program(), options(execution_resume=first.folder))
    assert raised.value.code == "STATE_CHANGED"


@pytest.mark.parametrize(("before", "now", "undeclared"), [(None, str, {"total"}), (str, str, set())])
def test_slots_compare_stored_keys_whose_type_was_not_declared(
    tmp_path: Path, before: Any, now: Any, undeclared: set[str]
) -> None:
    first = open_checkpoint(program(key_type=before), options(execution_checkpointing_dir=tmp_path))
    resuming = program(key_type=now)
    open_checkpoint(resuming, options(execution_resume=first.folder))
    assert resuming.undeclared_keys == undeclared


def test_a_folder_without_a_checkpoint(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nothing", program()).code == "NO_CHECKPOINT"
    (tmp_path / "penstock").write_text("a file")
    assert refusal(tmp_path, program()).code == "NO_CHECKPOINT"


@pytest.mark.parametrize("text", ["", '{"format": 1', "[]", "{}", json.dumps({"format": 1, "job_id": "x"})])
def test_a_damaged_job_description(checkpoint: Path, text: str) -> None:
    (checkpoint / "penstock" / "job.json").write_text(text)
    assert refusal(checkpoint, program()).code == "CHECKPOINT_DAMAGED"


def test_an_unreadable_job_description(checkpoint: Path) -> None:
    file = checkpoint / "penstock" / "job.json"
    file.unlink()
    file.mkdir()
    assert refusal(checkpoint, program()).code == "CHECKPOINT_UNREADABLE"


def test_a_checkpoint_of_a_newer_version(checkpoint: Path) -> None:
    file = checkpoint / "penstock" / "job.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    assert refusal(checkpoint, program()).code == "CHECKPOINT_FORMAT"


def test_an_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="CHECKPOINT_UNWRITABLE") as raised:
        open_checkpoint(program(), options(execution_checkpointing_dir=tmp_path / "file"))
    assert str(tmp_path / "file") in raised.value.text
    assert os.listdir(tmp_path) == ["file"]
