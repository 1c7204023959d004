"""What counts as trouble of the checkpoint's store, what as damage, and what as neither."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from penstock.errors import FailedCall, JobError
from penstock.spark.store_trouble import chain, damage_in, trouble_in, trouble_of_files

LOG = "\tat org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog.write(HDFSMetadataLog.scala:208)"
STATE = "\tat org.apache.spark.sql.execution.streaming.state.RocksDBFileManager.getChangeLogWriter(R.scala:256)"
SHUFFLE = "\tat org.apache.spark.storage.DiskBlockObjectWriter.write(DiskBlockObjectWriter.scala:34)"
TASK = """Job aborted due to stage failure: Task 0 in stage 11.0 failed 1 times, most recent failure: Lost task 0.0 in \
stage 11.0 (TID 17) (127.0.0.1 executor driver): org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error
\tat org.apache.spark.sql.execution.streaming.state.StateStoreRDD.compute(StateStoreRDD.scala:170)
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "penstock").mkdir()
    (tmp_path / "penstock" / "job.json").write_text("{}")
    return str(tmp_path)


def test_a_chain_is_read_from_the_text_of_a_failed_task(folder: str) -> None:
    stack = f"{TASK}Caused by: java.io.IOException: Read-only file system: file:/c\n{STATE}\n\t... 19 more"
    found = list(chain(stack))
    assert [one.kind.rpartition(".")[2] for one in found] == ["SparkException", "IOException"]
    assert found[0].text.startswith("[CANNOT_LOAD_STATE_STORE")
    assert (found[0].is_of_store, found[1].is_of_store) == (False, True)
    assert trouble_in(stack, folder) == "Read-only file system: file:/c"
    assert damage_in(stack, folder) is None


@pytest.mark.parametrize(
    ("stack", "trouble", "damage"),
    [
        (f"java.net.ConnectException: Connection refused\n{LOG}", True, False),
        (f"org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device\n{LOG}", True, False),
        (f"java.io.IOException: No space left on device\n{SHUFFLE}", False, False),
        (f"java.lang.IllegalStateException: Incomplete log file in file:/c/5\n{LOG}", False, True),
        (f"java.io.EOFException\n{STATE}", False, True),
        (f"org.apache.hadoop.fs.ChecksumException: Checksum error: 3.changelog\n{STATE}", False, True),
        (f"java.io.FileNotFoundException: 3.changelog\n{STATE}", False, True),
        (f"java.io.FileNotFoundException: /c/state/0/0/.9.tmp (Read-only file system)\n{STATE}", True, False),
        (f"java.io.FileNotFoundException: /c/state/0/0/9.zip (No such file or directory)\n{STATE}", False, True),
        (f"{TASK}Caused by: java.io.IOException: Connection timed out\n{STATE}", True, False),
        (f"{TASK}Caused by: java.lang.NullPointerException\n\tat java.util.HashMap.get(HashMap.java:1)", False, True),
        ("java.lang.ArithmeticException: / by zero\n\tat a.b.C.d(C.java:1)", False, False),
        ("", False, False),
    ],
)
def test_what_waiting_mends_and_what_it_does_not(stack: str, trouble: bool, damage: bool, folder: str) -> None:
    assert (trouble_in(stack, folder) is not None, damage_in(stack, folder) is not None) == (trouble, damage)


def test_a_folder_that_is_gone_is_the_store(tmp_path: Path) -> None:
    stack = f"java.io.FileNotFoundException: file:{tmp_path}/spark/offsets/3\n{LOG}"
    assert trouble_in(stack, str(tmp_path)) is not None
    assert damage_in(stack, str(tmp_path)) is None


def test_files_of_our_own(folder: str) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", f"{folder}/penstock/sinks/a/files.json")
    assert trouble_of_files(full, folder) == str(full)
    assert trouble_of_files(OSError(errno.ENOSPC, "No space left on device", "/elsewhere/file"), folder) is None
    assert trouble_of_files(PermissionError(errno.EACCES, "Permission denied", f"{folder}/x"), folder) is None
    told = JobError("SINK_FAILED", "...")
    told.failed = FailedCall(name="lines", error="OSError", message=str(full))
    assert trouble_of_files(told, folder) == str(full)
    told.failed.message = "[Errno 28] No space left on device: '/elsewhere/file'"
    assert trouble_of_files(told, folder) is None
