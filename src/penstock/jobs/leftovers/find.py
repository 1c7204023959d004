"""Finds leftovers in each kind of folder."""

from __future__ import annotations

import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.config import Configuration
from penstock.config.deployment_options import REGISTRY_KEEP_DAYS
from penstock.config.folder_options import (
    CACHE_KEEP_DAYS,
    CACHE_MAX_SIZE,
    CHECKPOINTS_KEEP_DAYS,
    CHECKPOINTS_MAX_SIZE,
    COPIES_MAX_SIZE,
    LOGS_MAX_SIZE,
)
from penstock.config.state_options import LOCAL_DIR, LOCAL_KEEP
from penstock.folders import (
    cache_folder,
    checkpoints_folder,
    is_default_checkpoint,
    runs_folder,
    savepoints_folder,
    working_copies_folder,
)
from penstock.folders.private_folder import abandoned_folders
from penstock.jobs.leftovers.finished_checkpoint import finished_at, is_locked
from penstock.jobs.leftovers.leftover import (
    REMOVED_PREFIX,
    Leftover,
    children,
    disk_size,
    is_mine,
    last_change,
    over_budget,
    unused_for,
)
from penstock.jobs.registry.registry import registry_of
from penstock.savepoints.manifest import MANIFEST_FILE

_HOUR, _DAY = 3600.0, 86_400.0
_IN_USE_SECONDS = _HOUR  # what was used just now may belong to a job that is starting


class LeftoverSearch:
    """Searches the folders of this user. What a running job uses is never a leftover."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._now = time.time()
        entries = registry_of(configuration).entries()
        running = [entry for entry in entries if not entry.is_over]
        self._running_ids = {entry.id for entry in running}
        self._running_checkpoints = {entry.checkpoint for entry in running}
        self._running_since = min((entry.started for entry in running), default=self._now)
        self._logs = {entry.log for entry in entries}

    def find(self) -> list[Leftover]:
        """All leftovers, those of one kind together."""
        parts = (
            self.runs,
            self.checkpoints,
            self.savepoints,
            self.working_copies,
            self.logs,
            self.cache,
            self.temporary,
        )
        return [leftover for part in parts for leftover in part()]

    # -- each kind

    def runs(self) -> Iterator[Leftover]:
        """Folders of processes that were killed."""
        for folder in abandoned_folders(runs_folder()):
            yield self._leftover("runs", folder, last_change([folder]), "its process has ended", True)

    def checkpoints(self) -> list[Leftover]:
        """Default checkpoints of jobs that do not run. Only those of jobs that have read all their input are automatic."""
        found = list(self._half_removed("checkpoints", checkpoints_folder()))
        total, finished = 0, []
        oldest = self._now - self._configuration.get(CHECKPOINTS_KEEP_DAYS) * _DAY
        for folder in children(checkpoints_folder()):
            if not is_default_checkpoint(folder):
                continue
            size = disk_size(folder)
            total += size
            if str(folder) in self._running_checkpoints or folder.name in self._running_ids or is_locked(folder):
                continue
            end = finished_at(folder)
            used = last_change([folder, folder / "penstock", folder / "spark" / "commits"]) if end is None else end
            reason = "its job can be resumed" if end is None else "its job has read all its input"
            leftover = Leftover("checkpoints", str(folder), size, used, reason, end is not None, end is None)
            if used < oldest:
                leftover.reason += f", {unused_for(used, self._now)}"
                found.append(leftover)
                total -= size
            elif end is not None and used < self._now - _IN_USE_SECONDS:
                finished.append(leftover)
        limit = self._configuration.get(CHECKPOINTS_MAX_SIZE)
        return found + over_budget(finished, total, limit, CHECKPOINTS_MAX_SIZE.key)

    def savepoints(self) -> Iterator[Leftover]:
        """Savepoints that were never completed. Complete ones were requested by a user and are kept."""
        for folder in children(savepoints_folder()):
            used = last_change([folder, *children(folder)])
            incomplete = folder.name.startswith("savepoint-") and not (folder / MANIFEST_FILE).exists()
            if incomplete and not self._running_ids and used < self._now - _DAY:
                yield self._leftover("savepoints", folder, used, "it was never completed", False)

    def working_copies(self) -> list[Leftover]:
        """Copies of the state of ended jobs."""
        chosen = self._configuration.get(LOCAL_DIR)
        root = Path(chosen) if chosen else working_copies_folder()
        found, unused, total = list(self._half_removed("working-copies", root)), [], 0
        oldest = self._now - self._configuration.get(LOCAL_KEEP) * _HOUR
        for job in children(root):
            if not job.is_dir() or job.name.startswith(REMOVED_PREFIX):
                continue
            slots = children(job)
            marks = [slot / "used" for slot in slots]
            if chosen and not any(mark.exists() for mark in marks):
                continue  # a configured folder may contain other files
            size = disk_size(job)
            total += size
            used = last_change([job, *slots, *marks])
            if job.name in self._running_ids or used > self._now - min(_IN_USE_SECONDS, self._now - oldest):
                continue
            leftover = Leftover("working-copies", str(job), size, used, unused_for(used, self._now), True)
            if used < oldest:
                found.append(leftover)
                total -= size
            else:
                unused.append(leftover)
        limit = self._configuration.get(COPIES_MAX_SIZE)
        return found + over_budget(unused, total, limit, COPIES_MAX_SIZE.key)

    def logs(self) -> list[Leftover]:
        """Logs of jobs that are no longer registered, and of processes that never registered a job."""
        found, others, total = [], [], 0
        oldest = self._now - self._configuration.get(REGISTRY_KEEP_DAYS) * _DAY
        for log in children(registry_of(self._configuration).logs):
            size, used = disk_size(log), last_change([log])
            total += size
            if str(log) in self._logs or used > self._now - _IN_USE_SECONDS or used >= self._running_since:
                continue
            reason = f"it belongs to no registered job, {unused_for(used, self._now)}"
            leftover = Leftover("logs", str(log), size, used, reason, True)
            if used < oldest:
                found.append(leftover)
                total -= size
            else:
                others.append(leftover)
        return found + over_budget(others, total, self._configuration.get(LOGS_MAX_SIZE), LOGS_MAX_SIZE.key)

    def cache(self) -> list[Leftover]:
        """Files that were not used for long. What was used since a running job has started may be in use."""
        root = cache_folder()
        groups = ("jars", "packages")
        entries = [p for p in children(root) if p.name not in groups]
        entries += [p for group in groups for p in children(root / group)]
        found, others, total = [], [], 0
        oldest = self._now - self._configuration.get(CACHE_KEEP_DAYS) * _DAY
        for path in entries:
            size, used = disk_size(path), _last_use([path, *(children(path) if path.is_dir() else ())])
            total += size
            if used > self._now - _IN_USE_SECONDS or used >= self._running_since:
                continue
            leftover = Leftover("cache", str(path), size, used, unused_for(used, self._now), True)
            if used < oldest or (path.name.startswith(".") and used < self._now - _DAY):
                found.append(leftover)
                total -= size
            else:
                others.append(leftover)
        return found + over_budget(others, total, self._configuration.get(CACHE_MAX_SIZE), CACHE_MAX_SIZE.key)

    def temporary(self) -> Iterator[Leftover]:
        """Files in the temporary folder: of killed processes, and of versions that had their folders there."""
        root = Path(tempfile.gettempdir())
        for folder in abandoned_folders(root, "penstock-*"):
            if (folder / "alive").exists():
                yield self._leftover("temporary", folder, last_change([folder]), "its process has ended", True)
        keep = self._configuration.get(CHECKPOINTS_KEEP_DAYS) * _DAY
        for name, age in (("penstock-checkpoints", keep), ("penstock-state", _DAY), ("penstock-packages", _DAY)):
            for path in children(root / name):
                used = last_change([path, *children(path)] if path.is_dir() else [path])
                if is_mine(root / name) and path.name not in self._running_ids and used < self._now - age:
                    leftover = self._leftover("temporary", path, used, "an earlier version of Penstock left it", False)
                    leftover.resumable = name == "penstock-checkpoints"
                    yield leftover

    # -- parts

    def _half_removed(self, kind: str, root: Path) -> Iterator[Leftover]:
        for path in children(root):
            if path.name.startswith(REMOVED_PREFIX):
                yield self._leftover(kind, path, last_change([path]), "its removal was interrupted", True)

    @staticmethod
    def _leftover(kind: str, path: Path, used: float, reason: str, automatic: bool) -> Leftover:
        return Leftover(kind, str(path), disk_size(path), used, reason, automatic)


def _last_use(paths: list[Path]) -> float:
    """The latest modification, or reading of a file. Most systems record the first reading of each day."""
    newest = 0.0
    for path in paths:
        try:
            status = path.lstat()
        except OSError:
            continue
        newest = max(newest, status.st_mtime, status.st_atime if stat.S_ISREG(status.st_mode) else 0.0)
    return newest
