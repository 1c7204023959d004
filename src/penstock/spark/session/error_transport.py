"""Transports errors through Spark: a worker encodes an error as a token in its message, and the driver decodes it."""

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
from penstock.engine.program.running_function import running_function_scope
from penstock.errors import CheckpointError, FailedCall, JobError, PenstockError
from penstock.redaction import redact
from penstock.runtime.failure import function_error

_TOKEN = re.compile(r"penstock-error<([A-Za-z0-9+/=]+)>")
_MAX_NOTE_LENGTH = 20_000  # characters


class _EncodedError(msgspec.Struct, array_like=True):
    """The contents of a token."""

    kind: str
    code: str
    text: str
    failed: FailedCall | None
    notes: list[str]


class TransportedError(Exception):
    """An error on its way through Spark: its message for Spark's log, and a token with all of it."""


class _Exit(Exception):  # noqa: N818 - its name is shown to users
    """A SystemExit as an error of the function that raised it."""

    def __init__(self, error: SystemExit) -> None:
        super().__init__(f"it called sys.exit({'' if error.code is None else repr(error.code)})")
        self.__traceback__ = error.__traceback__


_Exit.__name__ = "SystemExit"


@contextmanager
def wrap_errors() -> Iterator[None]:
    """Wraps code that Spark calls. An error that the code raises arrives on the driver as the same error."""
    with running_function_scope() as running:
        try:
            yield
        except TransportedError:
            raise
        except PenstockError as error:
            raise TransportedError(
                f"{error}\n{_encode(error)}"
            ) from None  # its notes contain the frames of the user code
        except SystemExit as error:  # a function called sys.exit, which must not end the worker silently
            transported = TransportedError(
                f"{redact(str(error))}\n{_encode(function_error(_Exit(error), name=running.operator))}"
            )
            raise transported from (None if _contains_secrets(error) else error)
        except Exception as error:
            transported = TransportedError(f"{redact(str(error))}\n{_encode(_unexpected(error))}")
            raise transported from (None if _contains_secrets(error) else error)


def translate_error(ended: Any) -> Exception:
    """The Penstock error for an error that ended a query. If the query failed with a Penstock error, it is that error."""
    if isinstance(ended, PenstockError):
        return ended
    text = str(ended)
    found = _TOKEN.findall(text)
    error = _decode(found[-1]) if found else _spark_error(text)
    if not found and isinstance(ended, BaseException):
        error.__cause__ = ended
    return error


def _contains_secrets(error: BaseException) -> bool:
    """Whether the stack of an error contains secrets, so that Spark must not print it. The token contains the redacted stack."""
    stack = "".join(traceback.format_exception(error))
    return redact(stack) != stack


def _encode(error: PenstockError) -> str:
    notes = [note[-_MAX_NOTE_LENGTH:] for note in getattr(error, "__notes__", ())]
    encoded = _EncodedError(type(error).__name__, error.code, error.text, error.failed, notes)
    token = base64.b64encode(zlib.compress(msgspec.msgpack.encode(encoded))).decode()
    return f"penstock-error<{token}>"


def _decode(token: str) -> PenstockError:
    encoded = msgspec.msgpack.decode(zlib.decompress(base64.b64decode(token)), type=_EncodedError)
    kind = getattr(errors, encoded.kind, JobError)
    error: PenstockError = kind(encoded.code, encoded.text)
    error.failed = encoded.failed
    for note in encoded.notes:
        error.add_note(note)
    return error


def _unexpected(error: Exception) -> JobError:
    """An error that is neither a Penstock error nor raised by a user function."""
    wrapped = JobError("JOB_FAILED", f"The job failed in Spark: {type(error).__name__}: {error}")
    wrapped.add_note(redact("".join(traceback.format_exception(error)).rstrip()))
    return wrapped


def _spark_error(text: str) -> PenstockError:
    """The Penstock error for an error of Spark."""
    if found := re.search(r"No space left on device|Disk quota exceeded", text):
        return CheckpointError(
            "DISK_FULL",
            f"The disk of the checkpoint or of spark.local.dir is full ({found.group()}). The batch was not committed, and no data "
            "is lost. Free some space and resume the job.",
        )
    if "Python worker exited unexpectedly" in text or "Python worker failed to connect back" in text:
        return JobError(
            "WORKER_DIED",
            "A Python worker of Spark ended without an error message, usually because it ran out of memory or a library crashed. "
            "The batch was not committed. Give the machine more memory or the job more parallelism, and resume. Spark's log "
            "contains the last output of the worker.",
        )
    if "OutOfMemoryError" in text:
        return JobError(
            "OUT_OF_MEMORY",
            "Spark's JVM ran out of memory. The batch was not committed. Increase spark.driver.memory (local) or "
            "spark.executor.memory (cluster), or decrease source.batch.records, and resume.",
        )
    python = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception): .*)$", text, re.MULTILINE)
    message = python[-1] if python else text.splitlines()[0]
    return JobError("JOB_FAILED", f"The job failed in Spark: {message[:500]}")
