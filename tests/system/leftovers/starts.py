"""What Penstock does with files of earlier jobs when a job starts, without Spark: with the functions that a job calls."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from penstock.config import Configuration
from penstock.connectors import JsonLinesSink, json_lines
from penstock.folders import (
    create_private,
    default_checkpoint_folder,
    private_folder,
    remove_private_folder,
    working_copies_folder,
)
from penstock.jobs.actions.savepoint_files import list_savepoints
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.checkpoint.job_description import read_job_description
from penstock.jobs.leftovers.find import LeftoverSearch
from penstock.jobs.registry import requests, savepoint_requests
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.process import this_process
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.run.run import Run
from penstock.spark.session.spark_home import linked_spark_home
from penstock.spark.state.local_state import LocalStateUnavailable, open_local_slot
from penstock.spark.state.working_copy import WorkingCopy

_LIMIT = 1 << 26
_CONFIGURATION = Configuration({"folders.clean": False})  # would remove the files of the test


def start_new_job() -> None:
    """The steps of a job that is started with other jobs' files in the folders."""
    job_id = uuid.uuid4().hex
    checkpoint = Checkpoint(default_checkpoint_folder(_CONFIGURATION, job_id), job_id, False)
    create_private(Path(checkpoint.folder, "penstock"))
    run_folders = [private_folder("run"), private_folder("fork", "socket")]
    checkpoint.lock.acquire()
    _register(job_id, checkpoint.folder)
    _use_copy(create_private(working_copies_folder() / job_id) / "1-0")
    with linked_spark_home():
        assert os.path.isdir(os.environ["SPARK_HOME"])
    LeftoverSearch(_CONFIGURATION).find()
    checkpoint.lock.release()
    for folder in run_folders:
        remove_private_folder(folder)


def look_at_jobs() -> None:
    """What commands read."""
    registry = registry_of(_CONFIGURATION)
    for entry in registry.entries():
        registry.progress(entry.id)
        CheckpointHistory(registry.job_folder(entry.id)).latest()
        savepoint_requests.list_savepoint_progress(registry, entry.id)
    list_savepoints(registry)


def resume_job(checkpoint: Path, copies: Path, output: Path) -> None:
    """The steps of a job that resumes a checkpoint. Raises PenstockError for a file that it cannot do without."""
    description = read_job_description(str(checkpoint))
    opened = Checkpoint(str(checkpoint), description.job_id, True)
    opened.lock.acquire()
    try:
        for source in description.sources:
            files = json_lines(output.parent / "input", bounded=False)
            files.attach(os.path.join(opened.sources_folder, source.uid))
            files.latest({"file": 2, "byte": 10})
        sink = JsonLinesSink(str(output))
        sink.attach(opened.create_sink_folder("sink"))
        sink.memory()
        _register(description.job_id, opened.folder)
        for slot in range(description.parallelism):
            with suppress(LocalStateUnavailable):
                open_local_slot(str(copies), str(checkpoint), 1, slot, _LIMIT).close()
            _use_copy(copies / f"1-{slot}")
    finally:
        opened.lock.release()


def _register(job_id: str, checkpoint: str) -> None:
    registry = registry_of(_CONFIGURATION)
    entry = JobEntry(
        id=job_id, name="new", process=this_process(), program="job.py", master="local[2]", checkpoint=checkpoint
    )
    run = Run(registry, entry, [], _CONFIGURATION)
    requests.read_end_request(registry, job_id)
    requests.read_limit(registry, job_id)
    savepoint_requests.take_savepoint_requests(registry, job_id)
    run.end("finished")
    assert not run._error_reported
    found = registry.entry(job_id)
    assert found is not None
    assert found.status == "finished"


def _use_copy(folder: Path) -> None:
    """Reads a working copy as far as it is usable, and replaces it."""
    copy = WorkingCopy(str(folder), _LIMIT)
    position = copy.position()
    for file in (folder / "pending").glob("*-*"):
        seq, _, token = file.name.partition("-")
        copy.pending.read(int(seq.lstrip(".") or 0), bytes.fromhex(token[:16]))
    if position.seq >= 0:
        view = copy.view()
        assert sum(1 for _ in view.scan(b"", b"\xff" * 8)) >= 0
        view.close()
    copy.rebuild([{b"key": b"value"}], 1, b"token")
    assert copy.position().seq == 1
    copy.mark_used()
    copy.write_tables([])
    copy.pending.remove(1)
    copy.close()
