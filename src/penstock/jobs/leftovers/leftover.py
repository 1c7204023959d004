"""One file or folder that a job left behind."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from penstock.units import format_duration

REMOVED_PREFIX = ".removed-"  # of folders that are being removed


class Leftover(msgspec.Struct):
    """A file or folder, and why it can be removed."""

    kind: str  # of its folder
    path: str
    size: int  # bytes on the disk
    used: float  # when it was last used
    reason: str
    automatic: bool  # whether jobs remove it without a question
    resumable: bool = False  # whether it is the state of a job that could continue

    @property
    def age(self) -> float:
        """Seconds since the last use."""
        return max(0.0, time.time() - self.used)


def remove_leftover(leftover: Leftover) -> bool:
    """Removes a leftover. A folder is renamed first, so that nobody finds a part of it. Returns whether it is gone."""
    path = Path(leftover.path)
    try:
        if path.is_dir() and not path.is_symlink():
            aside = path
            if not path.name.startswith(REMOVED_PREFIX):
                aside = path.with_name(f"{REMOVED_PREFIX}{secrets.token_hex(6)}")
                path.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
            return not aside.exists()
        path.unlink(missing_ok=True)
        return True
    except OSError:
        return False


def is_mine(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def children(folder: Path) -> list[Path]:
    """The entries of a folder that belong to this user; none if it cannot be read."""
    with suppress(OSError):
        return [path for path in folder.iterdir() if is_mine(path)]
    return []


def disk_size(path: Path) -> int:
    """The bytes that a file or folder occupies. Files that are removed meanwhile do not count."""
    total = 0
    for file in (path, *_files_below(path)):
        with suppress(OSError):
            total += file.lstat().st_blocks * 512
    return total


def _files_below(path: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(path):  # ignores folders that cannot be read
        yield Path(folder)
        for name in files:
            yield Path(folder, name)


def last_change(paths: Iterable[Path]) -> float:
    """The latest modification of any of the files; 0 if there is none."""
    newest = 0.0
    for path in paths:
        with suppress(OSError):
            newest = max(newest, path.lstat().st_mtime)
    return newest


def over_budget(candidates: list[Leftover], total: int, limit: int, option: str) -> list[Leftover]:
    """The candidates to remove, those unused for the longest time first, until the total size is within the limit."""
    chosen = []
    for leftover in sorted(candidates, key=lambda c: c.used):
        if total <= limit:
            break
        total -= leftover.size
        leftover.reason = f"{leftover.reason}, and the folder is larger than {option}"
        chosen.append(leftover)
    return chosen


def unused_for(used: float, now: float) -> str:
    return f"unused for {format_duration(max(0.0, now - used))}"
