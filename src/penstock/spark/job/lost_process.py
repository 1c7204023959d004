"""Explains the failure of a query whose helper process was killed."""

from __future__ import annotations

import re

from penstock.errors import JobError, PenstockError
from penstock.spark.checkpoint.storage_watch import java_stack
from penstock.spark.report.helper_processes import HelperProcesses
from penstock.spark.session.jvm_process import await_lost_jvm

# What Spark reports when the process at the other end of a connection is gone.
_CONNECTION_LOST = re.compile(r"Broken pipe|Connection reset|EOFException|SocketException|Python worker exited")
# A worker of a task has ended. Spark ends the helper processes after such a failure, so they are not its reason.
_TASK = re.compile(r"Job aborted due to stage failure")
_COMMIT = re.compile(r"PythonStreamingSinkCommitRunner|PythonStreamingWrite")


def lost_jvm_error(error: BaseException) -> JobError | None:
    """Returns the error of a job that failed because its JVM has ended; None if the JVM still runs."""
    code = await_lost_jvm(error)
    if code is None:
        return None
    ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return JobError(
        "JVM_LOST",
        f"The Java process of Spark {ended} while the job was running. If the machine ran out of memory, lower "
        "spark.driver.memory or stop other programs. Batches that were committed are in the checkpoint. Start the program again "
        "and resume the job.",
    )


def explain_lost_process(error: BaseException, failure: Exception, processes: HelperProcesses) -> Exception:
    """Returns an error that names the process that was killed, or `failure` if the query failed for another reason."""
    is_unexplained = isinstance(failure, PenstockError) and failure.code in ("JOB_FAILED", "WORKER_DIED")
    stack = f"{error}\n{java_stack(error)}"
    if not is_unexplained or not _CONNECTION_LOST.search(stack) or _TASK.search(stack):
        return failure
    killed = [f"the process that {p.task} (process {p.process.pid} on {p.process.host})" for p in processes.killed()]
    if not killed and _COMMIT.search(stack):
        killed = ["the process that commits the sinks on the driver's machine"]
    if not killed:
        return failure
    names = " and ".join(killed)
    explained = JobError(
        "HELPER_PROCESS_DIED",
        f"A process that Spark uses ended without an error message: {names}. Usually it was killed, or the machine ran out "
        "of memory. The batch was not committed, and no data is lost. The job is restarted if its restart strategy allows it "
        "(restart-strategy.type). Otherwise resume it.",
    )
    explained.__cause__ = error
    return explained
