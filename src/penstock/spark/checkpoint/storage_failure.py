"""Recognises failures of checkpoint storage in the error that ended a query.

A storage failure (`find_storage_failure`) does not fail the job. It continues from its last batch when storage works again. A
file that can be read and is wrong (`find_damage`) needs a repair instead.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import CheckpointError, PenstockError

# Spark code that accesses the checkpoint: the two logs, the files of the state store, and the metadata of the query.
_STORAGE_CODE = re.compile(
    r"CheckpointFileManager|HDFSMetadataLog|RocksDBFileManager|StateStoreChangelog|streaming\.state\.RocksDB\b|"
    r"OperatorStateMetadata|StateSchemaCompatibility|SchemaHelper|StreamMetadata|ResolveWriteToStream"
)
_HEAD = re.compile(r"^\s*(?:Caused by: |Suppressed: )?((?:[a-z_]\w*\.)+[A-Z]\w*)(?:: (.*))?$")
_FRAME = re.compile(r"^\s*at (?:[\w.$@-]+/)?([\w.$<>]+)\(")
# Errors of files and networks. They include those of damaged files, which are recognised first.
_IO = re.compile(r"^(java\.io\.|java\.net\.|java\.nio\.file\.|org\.apache\.hadoop\.|java\.util\.concurrent\.Timeout)")
_DAMAGE = re.compile(r"(EOFException|ChecksumException|ZipException|StreamCorruptedException|UTFDataFormatException)$")
_MISSING = re.compile(r"(FileNotFoundException|NoSuchFileException)$")
_OTHER_REASON = re.compile(
    r" \((?!No such file or directory\))[A-Z][^()]*\)$"
)  # Java appends the reason if it cannot open a file
_DAMAGE_WORDS = re.compile(
    r"Incomplete log file|CANNOT_READ|Corrupted|[Cc]hecksum|Stream is corrupted|does not exist|not found|"
    r"Log file was malformed|batch \d+ doesn't exist|Malformed"
)
_GONE = "STORE_GONE"
_NOT_LOADED = re.compile(r"\[CANNOT_LOAD_STATE_STORE\b[^\n]*")
# Errors of Python's file operations that indicate a storage failure.
_STORAGE_ERRNOS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.ENOTCONN,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.ENXIO,
    errno.ENODEV,
}


@dataclass(frozen=True)
class JavaError:
    """One error of a chain of causes: its class, its message, and its stack frames."""

    kind: str
    text: str
    frames: tuple[str, ...]

    @property
    def in_storage_code(self) -> bool:
        """Whether code that accesses the checkpoint threw the error."""
        return any(_STORAGE_CODE.search(frame) for frame in self.frames)


def java_errors(stack: str) -> Iterator[JavaError]:
    """The errors in a Java stack trace, outermost first, including those quoted in the message of another."""
    kind, text, frames = "", "", []
    for line in stack.splitlines():
        if frame := _FRAME.match(line):
            frames.append(frame.group(1))
        elif (head := _HEAD.match(line)) or (head := _HEAD.match(line.rpartition("): ")[2])):
            if kind:
                yield JavaError(kind, text, tuple(frames))
            kind, text, frames = head.group(1), head.group(2) or "", []
    if kind:
        yield JavaError(kind, text, tuple(frames))


def find_storage_failure(stack: str, folder: str) -> str | None:
    """The message of a storage failure of the checkpoint in this folder; None if storage did not fail.

    >>> find_storage_failure("java.io.IOException: No space left on device: file:/c/spark/offsets/.3.tmp", "/c")
    'No space left on device: file:/c/spark/offsets/.3.tmp'
    >>> find_storage_failure("java.io.IOException: No space left on device", "/c")
    """
    cause = _find_cause(stack, folder)
    if cause is None or _is_damage(cause, folder):
        return None
    return cause.text or cause.kind


def find_damage(stack: str, folder: str) -> str | None:
    """A message about a damaged file of the checkpoint; None if no damaged file ended the query."""
    cause = _find_cause(stack, folder)
    if cause is None:  # the contents that Spark has read may be invalid
        found = _NOT_LOADED.search(stack)
        return found.group() if found is not None else None
    if not _is_damage(cause, folder):
        return None
    name = cause.kind.rpartition(".")[2]
    return f"{name}: {cause.text}" if cause.text else name


def _find_cause(stack: str, folder: str) -> JavaError | None:
    """The innermost error that concerns files of the checkpoint."""
    for error in reversed(list(java_errors(stack))):
        about_files = _IO.match(error.kind) or _DAMAGE.search(error.kind) or _DAMAGE_WORDS.search(error.text)
        if about_files and (error.in_storage_code or f"{folder}/" in error.text):
            return error
    return None


def _is_damage(cause: JavaError, folder: str) -> bool:
    if _MISSING.search(cause.kind):
        # A message with a reason, such as (Read-only file system), or a missing folder indicate a storage failure.
        return not _OTHER_REASON.search(cause.text) and is_reachable(folder)
    return bool(_DAMAGE.search(cause.kind) or _DAMAGE_WORDS.search(cause.text))


def find_file_failure(error: BaseException, folder: str) -> str | None:
    """The message of a storage failure in a Python file operation below the folder; None if storage did not fail.

    The error is an OSError, or a Penstock error that was caused by one.
    """
    if isinstance(error, OSError):
        is_storage = error.errno in _STORAGE_ERRNOS or (
            isinstance(error, FileNotFoundError) and not is_reachable(folder)
        )
        return str(error) if is_storage and f"{folder}/" in str(error) else None
    if isinstance(error, PenstockError) and error.code == _GONE:
        return error.text
    if isinstance(error, PenstockError) and error.failed is not None:
        os_error = re.match(r"\[Errno (\d+)\] .*", error.failed.message)
        if os_error is not None and f"{folder}/" in os_error.group() and int(os_error.group(1)) in _STORAGE_ERRNOS:
            return os_error.group()
    return None


def is_disk_error_without_path(error: BaseException) -> bool:
    """Whether a Penstock error was caused by a full or failing disk, and its message does not name the file."""
    message = error.failed.message if isinstance(error, PenstockError) and error.failed is not None else ""
    found = re.fullmatch(r"\[Errno (\d+)\] [^/]*", message)
    return found is not None and int(found.group(1)) in _STORAGE_ERRNOS


def is_reachable(folder: str) -> bool:
    """Whether the checkpoint exists. After a file system was unmounted, its folder is empty or missing."""
    return os.path.exists(os.path.join(folder, "penstock", "job.json"))


def check_reachable(folder: str) -> None:
    """Raises an error if the checkpoint does not exist. Called before each batch is planned.

    After a file system was unmounted, Spark would create the folders again and continue in them. When the file system is
    mounted again, it would lack batches that sinks have committed.
    """
    if not is_reachable(folder):
        raise CheckpointError(
            _GONE,
            f"The checkpoint {folder} no longer exists. Its file system was unmounted, or the folder was removed. Restore it.",
        )
