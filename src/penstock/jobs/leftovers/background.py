"""Removes leftovers in the background when a job starts, at most once per hour."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from penstock.config import Configuration
from penstock.config.folder_options import CLEAN
from penstock.folders import create_private, state_folder
from penstock.jobs.leftovers.find import LeftoverSearch
from penstock.jobs.leftovers.leftover import remove_leftover

_STAMP = "cleaned"  # its modification time is the end of the last cleaning
_INTERVAL = 3600.0  # seconds


def start_cleaning(configuration: Configuration) -> threading.Thread | None:
    """Starts to remove leftovers, unless that was done in the last hour. A failure is ignored, since the next job tries again."""
    stamp = state_folder() / _STAMP
    if not configuration.get(CLEAN) or not _is_due(stamp):
        return None
    thread = threading.Thread(target=_clean, args=(configuration, stamp), name="penstock-cleaning", daemon=True)
    thread.start()
    return thread


def _is_due(stamp: Path) -> bool:
    try:
        return not 0 <= time.time() - stamp.stat().st_mtime < _INTERVAL
    except OSError:
        return True


def _clean(configuration: Configuration, stamp: Path) -> None:
    _lower_priority()
    with suppress(OSError):
        for leftover in LeftoverSearch(configuration).find():
            if leftover.automatic:
                remove_leftover(leftover)
        create_private(stamp.parent)
        stamp.touch()


def _lower_priority() -> None:
    """Lowers the priority of this thread, because no job waits for it. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
