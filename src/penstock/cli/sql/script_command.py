"""`penstock sql -e` and `-f`: run a script in this process, as `penstock run` runs a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli.run.run import ProgramRun
from penstock.cli.run.watcher import TerminalWatcher, Watcher
from penstock.cli.sql.program_folder import PROGRAM
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.progress import Progress

_QUERY = "collect"  # the name of the jobs of queries


class ScriptRun(ProgramRun):
    """A run of a script. Its messages about jobs are those of `penstock run`, but queries have none."""

    def __init__(self, verbose: bool = False) -> None:
        super().__init__(False, verbose)
        self._watcher: Watcher = InsertWatcher()

    def run(self, arguments: list[str], options: dict[str, Any]) -> None:
        """Runs the program with arguments of `program_arguments`."""
        with self.report_errors():
            self.start(Launch(str(PROGRAM), arguments, "", options))

    def _report_no_job(self, job: Path) -> None:
        """A script may have statements without jobs."""


class InsertWatcher(TerminalWatcher):
    """Shows the jobs of INSERT statements. What a query does is seen from its rows."""

    def on_created(self, job: JobEntry) -> None:
        _choose(self, job).on_created(self, job)

    def on_batch(self, job: JobEntry, progress: Progress, report: BatchReport) -> None:
        _choose(self, job).on_batch(self, job, progress, report)

    def on_stages(self, job: JobEntry, progress: Progress) -> None:
        _choose(self, job).on_stages(self, job, progress)

    def on_ended(self, job: JobEntry, progress: Progress) -> None:
        _choose(self, job).on_ended(self, job, progress)


def _choose(watcher: InsertWatcher, job: JobEntry) -> type[Watcher]:
    return Watcher if job.name == _QUERY else TerminalWatcher
