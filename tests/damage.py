"""Ways in which a file can be damaged: by a killed process, a full disk, another user, or another version of Penstock."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.other_user import OTHER_USER

_VERSION_FIELDS = ("format", "version")


def make_empty(file: Path) -> None:
    file.write_bytes(b"")


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def fill_with_garbage(file: Path) -> None:
    file.write_bytes(random.Random(7).randbytes(max(64, min(file.stat().st_size, 100_000))))


def make_unreadable(file: Path) -> None:
    file.chmod(0)


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "something").write_bytes(b"else")


def give_away(file: Path) -> None:
    file.chmod(0o600)
    os.chown(file, OTHER_USER + 1, OTHER_USER + 1)


def raise_version(file: Path) -> None:
    """What a later version may write: a higher version, and contents that this one does not know."""
    stored: object = {}
    with suppress(OSError, ValueError):
        stored = json.loads(file.read_bytes())
    future = {"something new": [1, {"nested": None}], "format": 99, "version": "99.0"}
    if isinstance(stored, dict):
        future = {**stored, **future} if set(stored) & set(_VERSION_FIELDS) else {**future, "id": 7}
    file.write_text(json.dumps(future))


WAYS: dict[str, Callable[[Path], None]] = {
    "empty": make_empty,
    "truncated": truncate,
    "garbage": fill_with_garbage,
    "unreadable": make_unreadable,
    "a folder": make_folder,
    "of another user": give_away,
    "of a future version": raise_version,
}
NEED_ROOT = frozenset({"unreadable", "of another user"})  # root creates them, and another user meets them


@contextmanager
def damaged(file: Path, way: str) -> Iterator[None]:
    """The file is damaged in the block and restored after it."""
    status, copy = file.stat(), file.with_name(f"{file.name}.copy-of-test")
    shutil.copy2(file, copy)
    os.chown(copy, status.st_uid, status.st_gid)
    WAYS[way](file)
    try:
        yield
    finally:
        if file.is_dir():
            shutil.rmtree(file)
        if file.parent.is_dir():
            os.replace(copy, file)


def regular_files(folder: Path) -> list[Path]:
    """The files below a folder, without sockets and links."""
    found = (Path(at, name) for at, _, names in os.walk(folder) for name in names)
    return sorted(file for file in found if file.is_file() and not file.is_symlink())
