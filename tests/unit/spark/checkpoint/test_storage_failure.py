"""Which errors are storage failures, which are damaged files, and which are neither."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from penstock.errors import FailedCall, JobError
from penstock.spark.checkpoint.storage_failure import find_damage, find_file_failure, find_storage_failure, java_errors

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


def test_java_errors_are_read_from_the_message_of_a_failed_task(folder: str) -> None:
    stack = f"{TASK}Caused by: java.io.IOException: Read-only file system: file:/c\n{STATE}\n\t... 19 more"
    found = list(java_errors(stack))
    assert [error.kind.rpartition(".")[2] for error in found] == ["SparkException", "IOException"]
    assert found[0].text.startswith("[CANNOT_LOAD_STATE_STORE")
    assert (found[0].in_storage_code, found[1].in_storage_code) == (False, True)
    assert find_storage_failure(stack, folder) == "Read-only file system: file:/c"
    assert find_damage(stack, folder) is None


@pytest.mark.parametrize(
    ("stack", "is_storage_failure", "is_damage"),
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
def test_storage_failures_and_damage(stack: str, is_storage_failure: bool, is_damage: bool, folder: str) -> None:
    assert (find_storage_failure(stack, folder) is not None, find_damage(stack, folder) is not None) == (
        is_storage_failure,
        is_damage,
    )


def test_a_missing_folder_is_a_storage_failure(tmp_path: Path) -> None:
    stack = f"java.io.FileNotFoundException: file:{tmp_path}/spark/offsets/3\n{LOG}"
    assert find_storage_failure(stack, str(tmp_path)) is not None
    assert find_damage(stack, str(tmp_path)) is None


def test_errors_of_python_file_operations(folder: str) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", f"{folder}/penstock/sinks/a/files.json")
    assert find_file_failure(full, folder) == str(full)
    assert find_file_failure(OSError(errno.ENOSPC, "No space left on device", "/elsewhere/file"), folder) is None
    assert find_file_failure(PermissionError(errno.EACCES, "Permission denied", f"{folder}/x"), folder) is None
    error = JobError("SINK_FAILED", "...")
    error.failed = FailedCall(name="lines", error="OSError", message=str(full))
    assert find_file_failure(error, folder) == str(full)
    error.failed.message = "[Errno 28] No space left on device: '/elsewhere/file'"
    assert find_file_failure(error, folder) is None
