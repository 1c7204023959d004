"""The registry of jobs: one folder per job with small files that are replaced atomically. There is no daemon."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.atomic_file import remove_file, write_atomic
from penstock.config import Configuration
from penstock.config.deployment_options import REGISTRY_KEEP, REGISTRY_KEEP_DAYS
from penstock.errors import JobError
from penstock.folders import registry_folder
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import Progress

_DAY = 86_400.0
T = TypeVar("T")


def registry_of(configuration: Configuration | None = None) -> Registry:
    """Returns the registry in the configured folder, or in the state folder of the user."""
    return Registry(registry_folder(configuration))


class Registry:
    """The jobs that are registered in a folder.

    >>> registry = Registry(Path("no-such-folder"))
    >>> registry.entries()
    []
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def job_folder(self, job_id: str) -> Path:
        return self.folder / "jobs" / job_id

    # -- writing

    def write(self, entry: JobEntry) -> None:
        entry.updated = time.time()
        self._replace(self.job_folder(entry.id) / "job.json", entry)

    def write_progress(self, job_id: str, progress: Progress) -> None:
        self._replace(self.job_folder(job_id) / "progress.json", progress)

    def _replace(self, file: Path, value: Any) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "jobs").mkdir(mode=0o700, exist_ok=True)  # other users must not read the arguments of programs
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(file, msgspec.json.format(msgspec.json.encode(value), indent=1), durable=False)

    # -- reading

    def entries(self) -> list[JobEntry]:
        """All jobs, newest first."""
        return sorted(self._entries(), key=lambda e: -e.started)

    def _entries(self) -> Iterator[JobEntry]:
        try:
            names = os.listdir(self.folder / "jobs")
        except OSError:
            return
        for name in names:
            entry = self.entry(name)
            if entry is not None:
                yield entry

    def entry(self, job_id: str) -> JobEntry | None:
        return self._read(self.job_folder(job_id) / "job.json", JobEntry)

    def progress(self, job_id: str) -> Progress | None:
        return self._read(self.job_folder(job_id) / "progress.json", Progress)

    @staticmethod
    def _read(file: Path, kind: type[T]) -> T | None:
        """Returns None if the file does not exist, or if another version of Penstock wrote it in another format."""
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError):
            return None

    def find(self, name: str) -> JobEntry:
        """Returns the job with this id, the newest job with this name, or the only job whose id begins with it.

        Raises:
            JobError: there is no such job, or there are several.
        """
        entries = self.entries()
        for found in (
            [e for e in entries if e.id == name],
            [e for e in entries if e.name == name][:1],
            [e for e in entries if name and e.id.startswith(name)],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                raise _ambiguous(name, found)
        raise self._unknown(name)

    def find_running(self, name: str, verb: str) -> JobEntry:
        """Returns the job as `find` does, but of several jobs with the same name the one that runs.

        Raises:
            JobError: there is no such job, there are several, or none of them runs. `verb` names what cannot be done.
        """
        named = [e for e in self.entries() if e.name == name] if self.entry(name) is None else []
        running = [e for e in named if not e.is_over]
        if len(running) > 1:
            raise _ambiguous(name, running)
        if not running and len(named) > 1:
            last = named[0]
            raise JobError(
                "JOB_OVER",
                f"No job named '{name}' is running, so there is nothing to {verb}. The newest of {len(named)} is {last.id[:12]}: "
                f"{last.current_status()}, started {_time_text(last.started)}. 'penstock resume {last.id[:12]}' resumes it.",
            )
        return running[0] if running else self.find(name)

    def _unknown(self, name: str) -> JobError:
        return JobError(
            "JOB_UNKNOWN",
            f"The registry {self.folder} has no job with the id or name '{name}'. "
            "'penstock list' shows its jobs. The environment variable PENSTOCK_HOME selects another registry.",
        )

    # -- cleaning up

    def prune(self, keep: int, days: float) -> list[str]:
        """Removes ended jobs, except the newest `keep` that ended less than `days` days ago. Returns the removed ids."""
        oldest = time.time() - days * _DAY
        ended = [e for e in self.entries() if e.is_over]
        removed = [e for i, e in enumerate(ended) if i >= keep or (e.ended or e.updated) < oldest]
        for entry in removed:
            shutil.rmtree(self.job_folder(entry.id), ignore_errors=True)
        if removed:
            self._prune_logs({e.log for e in removed})
        return [e.id for e in removed]

    def prune_by_options(self, configuration: Configuration) -> None:
        self.prune(configuration.get(REGISTRY_KEEP), configuration.get(REGISTRY_KEEP_DAYS))

    def _prune_logs(self, logs: set[str]) -> None:
        """Removes logs that no other job uses (jobs of one process share a log), if they are in the log folder."""
        for name in logs - {e.log for e in self.entries()}:
            if name and Path(name).parent == self.logs:
                with suppress(OSError):
                    remove_file(name)


def _ambiguous(name: str, found: list[JobEntry]) -> JobError:
    jobs = ", ".join(f"{e.id[:12]} ('{e.name}', {e.current_status()}, {_time_text(e.started)})" for e in found[:5])
    return JobError(
        "JOB_AMBIGUOUS",
        f"'{name}' matches {len(found)} jobs: {jobs}{' and more' if len(found) > 5 else ''}. "
        "Use the beginning of the id of one job.",
    )


def _time_text(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
