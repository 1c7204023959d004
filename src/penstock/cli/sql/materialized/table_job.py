"""The job of a materialized table: it runs in a process of its own, until it is suspended.

folder/refresh.sql        statements that make a session in which the query of the table can be bound
folder/launch.json        options of the job, and the working folder of its program
folder/checkpoints/...    checkpoints; the job finds the last one by its name
folder/savepoints/...     the savepoint of SUSPEND
folder/result/...         the rows
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.cli.sql.started_job import started_job
from penstock.config import Configuration, environment_options
from penstock.errors import JobError
from penstock.jobs.actions.savepoint import take_savepoint
from penstock.jobs.actions.start import start_program
from penstock.jobs.actions.stop import cancel_job
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.launch import Launch, job_options
from penstock.jobs.registry.registry import Registry, registry_of
from penstock.table.environment.statements.materialized import Found


class _StoredLaunch(msgspec.Struct, frozen=True):
    """The contents of `launch.json`."""

    options: dict[str, Any]
    folder: str


class TableJob:
    """The job of one table. `program` is the program that runs scripts."""

    def __init__(self, found: Found, program: Path) -> None:
        self._found = found
        self._program = program
        self._folder = Path(found.folder)

    def prepare(self, script: str) -> None:
        """Writes what the job needs besides the definition of the table. Only this user may read it: scripts have secrets."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        options = job_options(environment_options())
        self._write_private("refresh.sql", script.encode())
        self._write_private("launch.json", msgspec.json.encode(_StoredLaunch(options, os.getcwd())))

    def _write_private(self, name: str, data: bytes) -> None:
        write_atomic(self._folder / name, data, durable=True)
        (self._folder / name).chmod(0o600)

    def start(self) -> JobEntry:
        """Starts the job: from a savepoint, else from its last batch, else from the beginning. Returns when it runs or has ended.

        Raises:
            JobError: the job did not start, or has failed already.
        """
        launch = self._launch()
        return started_job(start_program(self._registry(launch), launch))

    def _launch(self) -> Launch:
        file = self._folder / "launch.json"
        try:
            stored = msgspec.json.decode(file.read_bytes(), type=_StoredLaunch)
        except (OSError, msgspec.DecodeError) as error:
            raise JobError(
                "SQL_JOB",
                f"The file {file} of the materialized table cannot be read: {error}. Restore it, or create the table again.",
            ) from error
        arguments = ["-f", str(self._folder / "refresh.sql"), "--materialized-table", *self._found.path]
        folder = stored.folder if os.path.isdir(stored.folder) else os.getcwd()
        launch = Launch(str(self._program), arguments, folder, stored.options, detached=True)
        return launch.changed(job_options(environment_options()))

    def running(self) -> JobEntry | None:
        """Returns the job if it runs."""
        entry = self.last_run()
        return None if entry is None or entry.is_over else entry

    def last_run(self) -> JobEntry | None:
        """Returns the last run of the job, or None if the registry does not know it.

        It is found by its checkpoint. Its id is not stored if the client was killed while it started the job.
        """
        own = f"{self._folder / 'checkpoints'}{os.sep}"
        return next((e for e in self._registry(None).entries() if e.checkpoint.startswith(own)), None)

    def suspend(self, entry: JobEntry) -> str:
        """Takes a savepoint and stops the job. Returns the path of the savepoint; empty if the job had ended meanwhile."""
        registry = self._registry(None)
        try:
            return take_savepoint(registry, entry, directory=str(self._folder / "savepoints"), then="stop").path
        except JobError:
            last = registry.entry(entry.id)
            if last is None or last.status != "finished":
                raise
            return ""

    def forget_savepoints(self, kept: str) -> None:
        """Removes all savepoints but one."""
        for folder in (self._folder / "savepoints").glob("*"):
            if str(folder) != kept:
                shutil.rmtree(folder, ignore_errors=True)

    def remove(self) -> None:
        """Stops the job and removes all that belongs to the table."""
        entry = self.running()
        if entry is not None and not cancel_job(self._registry(None), entry).ended:
            raise JobError(
                "SQL_JOB",
                f"Job {entry.id} of the materialized table does not stop. End its process, {entry.process.pid} on "
                f"{entry.process.host}, and drop the table again.",
            )
        shutil.rmtree(self._folder, ignore_errors=True)

    def _registry(self, launch: Launch | None) -> Registry:
        return registry_of(Configuration(environment_options() if launch is None else launch.options))
