"""Where jobs are registered: one folder per job, with small files that are replaced as a whole. There is no daemon."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.config import REGISTRY_DIR, REGISTRY_KEEP, REGISTRY_KEEP_DAYS, Configuration
from penstock.errors import JobError
from penstock.jobs.entry import JobEntry
from penstock.jobs.progress import Progress
from penstock.jobs.whole_file import write_whole

HOME_VARIABLE = "PENSTOCK_HOME"
_DAY = 86_400.0
T = TypeVar("T")


def registry_of(configuration: Configuration | None = None) -> Registry:
    """The registry that a configuration names; else the variable PENSTOCK_HOME; else ~/.penstock."""
    chosen = (configuration or Configuration()).get(REGISTRY_DIR) or os.environ.get(HOME_VARIABLE)
    return Registry(Path(chosen).expanduser().absolute() if chosen else _home() / ".penstock")


def _home() -> Path:
    """A user without a home, as containers may have, keeps the registry with other passing things."""
    try:
        home = Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())
    return home if os.access(home, os.W_OK) else Path(tempfile.gettempdir())


class Registry:
    """All jobs that were registered in a folder.

    >>> registry = Registry(Path(tempfile.mkdtemp()))
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
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # logs are nobody else's business
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.format(msgspec.json.encode(value), indent=1))

    # -- reading

    def entries(self) -> list[JobEntry]:
        """All jobs, the newest first."""
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
        """None when the file is not there, or of a version of Penstock that wrote it otherwise."""
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError):
            return None

    def find(self, word: str) -> JobEntry:
        """The job with this id, with an id that begins so, or with this name, if there is just one."""
        entries = self.entries()
        named = [e for e in entries if e.name == word]
        for found in (
            [e for e in entries if e.id == word],
            [e for e in named if not e.is_over] or named,  # a running job comes before those that had its name
            [e for e in entries if word and e.id.startswith(word)],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                raise JobError(
                    "JOB_AMBIGUOUS",
                    f"'{word}' stands for {len(found)} jobs: {', '.join(f'{e.id[:12]} ({e.name})' for e in found[:5])}"
                    f"{' and more' if len(found) > 5 else ''}. Give the beginning of one job's id.",
                )
        raise JobError(
            "JOB_UNKNOWN",
            f"The registry {self.folder} holds no job with the id or name '{word}'. "
            "'penstock list' shows its jobs; the variable PENSTOCK_HOME chooses another registry.",
        )

    # -- cleaning up

    def prune(self, keep: int, days: float) -> list[str]:
        """Forgets jobs that are over, beyond the newest so many or older than so many days; gives their ids."""
        oldest = time.time() - days * _DAY
        over = [e for e in self.entries() if e.is_over]
        gone = [e for i, e in enumerate(over) if i >= keep or (e.ended or e.updated) < oldest]
        for entry in gone:
            shutil.rmtree(self.job_folder(entry.id), ignore_errors=True)
        if gone:
            self._prune_logs({e.log for e in gone})
        return [e.id for e in gone]

    def prune_as(self, configuration: Configuration) -> None:
        self.prune(configuration.get(REGISTRY_KEEP), configuration.get(REGISTRY_KEEP_DAYS))

    def _prune_logs(self, unwanted: set[str]) -> None:
        """Jobs of one process share a log, and only logs that lie here are ours to remove."""
        for name in unwanted - {e.log for e in self.entries()}:
            if name and Path(name).parent == self.logs:
                Path(name).unlink(missing_ok=True)
