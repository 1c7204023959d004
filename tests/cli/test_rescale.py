"""`penstock rescale`: what it refuses before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.rescale import rescaled
from penstock.errors import JobError
from penstock.jobs.entry import JobEntry
from penstock.jobs.launch import Launch
from penstock.jobs.process import this_process
from penstock.jobs.registry import Registry


def entry_of(launch: Launch | None) -> JobEntry:
    made = JobEntry(
        id="j1", name="job", process=this_process(), program="", master="", checkpoint="", parallelism=2, launch=launch
    )
    made.status = "running"
    return made


@pytest.mark.parametrize(
    ("launch", "parallelism", "code", "told"),
    [
        (None, 3, "JOB_NOT_RESTARTABLE", "-D execution.rescale.parallelism=3"),
        (Launch("/gone/job.py", [], "/"), 3, "JOB_NOT_RESTARTABLE", "is not there any more"),
        (Launch(__file__, [], "/"), 2, "RESCALE_SAME", "has parallelism 2 already"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, launch: Launch | None, parallelism: int, code: str, told: str
) -> None:
    registry, entry = Registry(tmp_path), entry_of(launch)
    registry.write(entry)
    with pytest.raises(JobError) as refused:
        rescaled(registry, entry, parallelism, "", 1.0, lambda step, done: None)
    assert refused.value.code == code
    assert told in refused.value.text
    assert list(registry.job_folder(entry.id).glob("savepoint-*")) == []
