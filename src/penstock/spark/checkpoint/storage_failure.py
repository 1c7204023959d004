"""Recognises, in the stack of what ended a query, that the checkpoint's store could not be written or read.

Such a failure is no fault of the job: it goes on from its last batch when the store is back. A file that is there and wrong
is another matter (`damage_in`): waiting does not mend it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import CheckpointError, PenstockError

# Code of Spark's that touches the checkpoint: its two logs, the state store's files, what it notes of the query.
_STORE_CODE = re.compile(
    r"CheckpointFileManager|HDFSMetadataLog|RocksDBFileManager|StateStoreChangelog|streaming\.state\.RocksDB\b|"
    r"OperatorStateMetadata|StateSchemaCompatibility|SchemaHelper|StreamMetadata|ResolveWriteToStream"
)
_HEAD = re.compile(r"^\s*(?:Caused by: |Suppressed: )?((?:[a-z_]\w*\.)+[A-Z]\w*)(?:: (.*))?$")
_FRAME = re.compile(r"^\s*at (?:[\w.$@-]+/)?([\w.$<>]+)\(")
# Errors of files and networks; what a damaged file gives is among them, and is sorted out first.
_IO = re.compile(r"^(java\.io\.|java\.net\.|java\.nio\.file\.|org\.apache\.hadoop\.|java\.util\.concurrent\.Timeout)")
_DAMAGE = re.compile(r"(EOFException|ChecksumException|ZipException|StreamCorruptedException|UTFDataFormatException)$")
_MISSING = re.compile(r"(FileNotFoundException|NoSuchFileException)$")
_OTHER_REASON = re.compile(
    r" \((?!No such file or directory\))[A-Z][^()]*\)$"
)  # Java says so of files that it cannot open
_DAMAGE_WORDS = re.compile(
    r"Incomplete log file|CANNOT_READ|Corrupted|[Cc]hecksum|Stream is corrupted|does not exist|not found|"
    r"Log file was malformed|batch \d+ doesn't exist|Malformed"
)
_GONE = "STORE_GONE"
_NOT_LOADED = re.compile(r"\[CANNOT_LOAD_STATE_STORE\b[^\n]*")
# What Python's own files in the checkpoint meet when the store is at fault.
_PASSING = {
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
class Thrown:
    """One of the errors of a chain: its class, what it says, and where it was thrown."""

    kind: str
    text: str
    frames: tuple[str, ...]

    @property
    def is_of_store(self) -> bool:
        return any(_STORE_CODE.search(frame) for frame in self.frames)


def chain(stack: str) -> Iterator[Thrown]:
    """The errors in a Java stack, outermost first; also those that stand in the text of another."""
    kind, text, frames = "", "", []
    for line in stack.splitlines():
        if frame := _FRAME.match(line):
            frames.append(frame.group(1))
        elif (head := _HEAD.match(line)) or (head := _HEAD.match(line.rpartition("): ")[2])):
            if kind:
                yield Thrown(kind, text, tuple(frames))
            kind, text, frames = head.group(1), head.group(2) or "", []
    if kind:
        yield Thrown(kind, text, tuple(frames))


def trouble_in(stack: str, folder: str) -> str | None:
    """What the store of the checkpoint in this folder says; None when it is not the store that failed.

    >>> trouble_in("java.io.IOException: No space left on device: file:/c/spark/offsets/.3.tmp", "/c")
    'No space left on device: file:/c/spark/offsets/.3.tmp'
    >>> trouble_in("java.io.IOException: No space left on device", "/c")
    """
    cause = _cause(stack, folder)
    if cause is None or _is_damage(cause, folder):
        return None
    return cause.text or cause.kind


def damage_in(stack: str, folder: str) -> str | None:
    """What is wrong with a file of the checkpoint that could be read; None when that is not why a query ended."""
    cause = _cause(stack, folder)
    if cause is None:  # Spark may stumble over what it has read
        found = _NOT_LOADED.search(stack)
        return found.group() if found is not None else None
    if not _is_damage(cause, folder):
        return None
    name = cause.kind.rpartition(".")[2]
    return f"{name}: {cause.text}" if cause.text else name


def _cause(stack: str, folder: str) -> Thrown | None:
    """The innermost error that is about the checkpoint's files."""
    for one in reversed(list(chain(stack))):
        about_files = _IO.match(one.kind) or _DAMAGE.search(one.kind) or _DAMAGE_WORDS.search(one.text)
        if about_files and (one.is_of_store or f"{folder}/" in one.text):
            return one
    return None


def _is_damage(cause: Thrown, folder: str) -> bool:
    if _MISSING.search(cause.kind):
        # Not when it says why it was not found, such as (Read-only file system), nor when all of the folder is gone.
        return not _OTHER_REASON.search(cause.text) and is_reachable(folder)
    return bool(_DAMAGE.search(cause.kind) or _DAMAGE_WORDS.search(cause.text))


def trouble_of_files(error: BaseException, folder: str) -> str | None:
    """The same for Python's own files below the folder: an OSError, or an error of ours that tells of one."""
    if isinstance(error, OSError):
        passing = error.errno in _PASSING or (isinstance(error, FileNotFoundError) and not is_reachable(folder))
        return str(error) if passing and f"{folder}/" in str(error) else None
    if isinstance(error, PenstockError) and error.code == _GONE:
        return error.text
    if isinstance(error, PenstockError) and error.failed is not None:
        told = re.match(r"\[Errno (\d+)\] .*", error.failed.message)
        if told is not None and f"{folder}/" in told.group() and int(told.group(1)) in _PASSING:
            return told.group()
    return None


def names_no_file(error: BaseException) -> bool:
    """Whether an error of ours tells of a full or failing disk and not of which one."""
    told = error.failed.message if isinstance(error, PenstockError) and error.failed is not None else ""
    found = re.fullmatch(r"\[Errno (\d+)\] [^/]*", told)
    return found is not None and int(found.group(1)) in _PASSING


def is_reachable(folder: str) -> bool:
    """Whether the checkpoint is there at all; a file system that was taken away leaves an empty folder, or none."""
    return os.path.exists(os.path.join(folder, "penstock", "job.json"))


def check_reachable(folder: str) -> None:
    """To be called before a batch is planned.

    Where a file system was taken away Spark makes the folders anew and goes on in them. When it is back, it would lack
    batches that sinks have taken.
    """
    if not is_reachable(folder):
        raise CheckpointError(
            _GONE,
            f"The checkpoint {folder} is not there any more: its file system was taken away, or the folder removed. Put it back.",
        )
