"""How errors come out of Spark: as one token in the text that Spark shows, so that nothing has to be read out of stacks."""

from __future__ import annotations

import base64
import re
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from penstock import errors
from penstock.engine.logs import RUNNING
from penstock.errors import CheckpointError, FailedCall, JobError, PenstockError
from penstock.redaction import redacted
from penstock.runtime.failure import failure

_TOKEN = re.compile(r"penstock-error<([A-Za-z0-9+/=]+)>")
_LONGEST_STACK = 20_000


class _Parcel(msgspec.Struct, array_like=True):
    """An error as it travels."""

    kind: str
    code: str
    text: str
    failed: FailedCall | None
    notes: list[str]


class CarriedError(Exception):
    """An error on its way through Spark: its text for those who read Spark's log, and all of it as a token."""


class _Exit(Exception):  # noqa: N818 - shown to users by what it is called here
    """A SystemExit, as an error of the function that raised it."""

    def __init__(self, error: SystemExit) -> None:
        super().__init__(f"it called sys.exit({'' if error.code is None else repr(error.code)})")
        self.__traceback__ = error.__traceback__


_Exit.__name__ = "SystemExit"


@contextmanager
def carrying() -> Iterator[None]:
    """Around all that Spark calls: what is raised inside arrives on the driver as the same error."""
    try:
        yield
    except CarriedError:
        raise
    except PenstockError as error:
        raise CarriedError(f"{error}\n{_token(error)}") from None  # its notes hold the user's frames
    except SystemExit as error:  # a function called sys.exit: the worker must not end without a word
        told = CarriedError(f"{redacted(str(error))}\n{_token(failure(_Exit(error), name=RUNNING.operator))}")
        raise told from (None if _tells_secrets(error) else error)
    except Exception as error:
        told = CarriedError(f"{redacted(str(error))}\n{_token(_unexpected(error))}")
        raise told from (None if _tells_secrets(error) else error)


def in_our_words(ended: Any) -> Exception:
    """The error that ended a query: ours, if one of ours is the cause."""
    if isinstance(ended, PenstockError):
        return ended
    text = str(ended)
    found = _TOKEN.findall(text)
    error = _opened(found[-1]) if found else _spark_error(text)
    if not found and isinstance(ended, BaseException):
        error.__cause__ = ended
    return error


def _tells_secrets(error: BaseException) -> bool:
    """Whether Spark must not print this error and its causes: the token has them without their secrets."""
    stack = "".join(traceback.format_exception(error))
    return redacted(stack) != stack


def _token(error: PenstockError) -> str:
    notes = [note[-_LONGEST_STACK:] for note in getattr(error, "__notes__", ())]
    parcel = _Parcel(type(error).__name__, error.code, error.text, error.failed, notes)
    packed = base64.b64encode(zlib.compress(msgspec.msgpack.encode(parcel))).decode()
    return f"penstock-error<{packed}>"


def _opened(token: str) -> PenstockError:
    parcel = msgspec.msgpack.decode(zlib.decompress(base64.b64decode(token)), type=_Parcel)
    kind = getattr(errors, parcel.kind, JobError)
    error: PenstockError = kind(parcel.code, parcel.text)
    error.failed = parcel.failed
    for note in parcel.notes:
        error.add_note(note)
    return error


def _unexpected(error: Exception) -> JobError:
    """An error that is neither ours nor of a user's function."""
    told = JobError("JOB_FAILED", f"The job failed in Spark: {type(error).__name__}: {error}")
    told.add_note(redacted("".join(traceback.format_exception(error)).rstrip()))
    return told


def _spark_error(text: str) -> PenstockError:
    """An error of Spark's own."""
    if found := re.search(r"No space left on device|Disk quota exceeded", text):
        return CheckpointError(
            "DISK_FULL",
            f"A disk that Spark writes to is full ({found.group()}): the checkpoint's or that of spark.local.dir. The batch "
            "was not committed and nothing is lost: free some space and resume.",
        )
    if "Python worker exited unexpectedly" in text or "Python worker failed to connect back" in text:
        return JobError(
            "WORKER_DIED",
            "A Python worker of Spark's died without an error of its own, most often because it was out of memory or a "
            "library crashed. The batch was not committed: give the machine more memory or the job more parallelism, and "
            "resume. Spark's log has its last words.",
        )
    if "OutOfMemoryError" in text:
        return JobError(
            "OUT_OF_MEMORY",
            "Spark's JVM ran out of memory. The batch was not committed: raise spark.driver.memory (local) or "
            "spark.executor.memory (cluster), or lower source.batch.records, and resume.",
        )
    python = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception): .*)$", text, re.MULTILINE)
    told = python[-1] if python else text.splitlines()[0]
    return JobError("JOB_FAILED", f"The job failed in Spark: {told[:500]}")
