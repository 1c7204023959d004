"""`penstock run`: runs a program with the options of the command line."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.arguments import (
    AllowDropped,
    AsPyFlink,
    FromSavepoint,
    Master,
    ProgramArgs,
    ProgramFile,
    Rebuild,
    Settings,
)
from penstock.cli.render.error_exit import ErrorReport, describe_error
from penstock.cli.run.detached import run_detached
from penstock.cli.run.interrupt import handle_interrupts
from penstock.cli.run.program import program_environment, run_file
from penstock.cli.run.settings import run_options
from penstock.cli.run.stderr import discard_stdout, redirect_stderr
from penstock.cli.run.watcher import JsonWatcher, TerminalWatcher, Watcher, log_as_json, print_event
from penstock.config import Configuration
from penstock.config.checkpoint_options import LATEST
from penstock.errors import ConfigError, PenstockError
from penstock.jobs.registry.entry import IN_PROCESS
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.resume_command import resume_command
from penstock.jobs.run.listener import add_listener
from penstock.jobs.run.log import set_process_log


def run(
    job: ProgramFile,
    args: ProgramArgs = None,
    resume: Annotated[str | None, typer.Option(metavar="PATH", help="Resume the job from this checkpoint.")] = None,
    resume_or_start: Annotated[
        bool,
        typer.Option(
            "--resume-or-start",
            help="Resume the job with this name from its last checkpoint; the first time, start it.",
        ),
    ] = False,
    from_savepoint: FromSavepoint = None,
    allow_dropped_state: AllowDropped = False,
    rebuild: Rebuild = False,
    master: Master = None,
    local: Annotated[
        bool,
        typer.Option("--local", help="Run the jobs in this process, without Spark and Java (execution.engine: local)."),
    ] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the job, if the program does not set one.")
    ] = None,
    settings: Settings = None,
    pyflink: AsPyFlink = False,
    detached: Annotated[
        bool,
        typer.Option("--detached", "-d", help="Run in the background: print the job's id once it runs, and return."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Report on the job in JSON lines on stderr.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show Spark's own output, and errors with their stack traces.")
    ] = False,
    log: Annotated[Path | None, typer.Option(hidden=True, help="The log of a detached process.")] = None,
) -> None:
    """Run a Python program.

    The options given here are the defaults of every environment that the program creates. Options that the program sets
    override them. Stdout belongs to the program; Penstock writes to stderr.

    Exit codes: 0 finished (also after 'penstock stop'), 1 failed or cancelled, 2 wrong arguments, 130 interrupted by
    Ctrl-C. The first Ctrl-C lets the running batch finish, the second one cancels it.
    """
    if local and master is not None:
        raise typer.BadParameter(
            "--local runs the job without Spark, and --master selects a Spark master. Omit one of them."
        )
    if log is not None:
        set_process_log(log)
    command = ProgramRun(as_json, verbose)
    with command.report_errors():
        options = run_options(
            settings or [],
            resume=LATEST if resume_or_start and resume is None else resume,
            master=master,
            name=name,
            verbose=verbose,
            from_savepoint=from_savepoint,
            allow_dropped_state=allow_dropped_state,
            rebuild=rebuild,
            local=local,
        )
        command.start(Launch(str(job), args or [], "", options, pyflink, detached=detached))


class ProgramRun:
    """One `penstock run` or `penstock resume`: runs the program and reports how it ended."""

    def __init__(self, as_json: bool, verbose: bool) -> None:
        self._watcher: Watcher = JsonWatcher() if as_json else TerminalWatcher()
        self._as_json = as_json
        self.verbose = verbose

    @contextmanager
    def report_errors(self) -> Iterator[None]:
        """Prints a PenstockError of the block and exits with code 1, or with 2 if an option of the command line is wrong."""
        try:
            yield
        except PenstockError as error:
            self.report_error(error)
            raise typer.Exit(2 if isinstance(error, ConfigError) else 1) from None

    def start(self, launch: Launch) -> None:
        """Runs a program in this process, or in the background."""
        if launch.detached:
            Configuration(launch.options)
            run_detached(launch, self._as_json)
            return
        log_lines = log_as_json() if self._as_json else nullcontext()
        folder = chdir(launch.folder) if launch.folder else nullcontext()
        with folder, program_environment(launch.options, launch.pyflink), add_listener(self._watcher), log_lines:
            self._run(Path(launch.script), launch.args)

    def _run(self, job: Path, args: list[str]) -> None:
        """Runs the program. An error or an interrupt of the program becomes the exit code of the command."""
        with handle_interrupts(self._watcher) as interrupts:
            try:
                run_file(job, args)
            except KeyboardInterrupt:
                self._report_interrupt()
                raise typer.Exit(interrupts.exit_code) from None
            except BrokenPipeError:
                raise
            except Exception as error:
                self.report_error(error)
                self._silence_exit(error)
                raise typer.Exit(1) from None
            if interrupts.signal is not None:  # the program caught the interrupt
                raise typer.Exit(interrupts.exit_code)
            if self._watcher.last_job() is None:
                self._report_no_job(job)

    def _silence_exit(self, error: Exception) -> None:
        """Hides what Python and pyspark print at the end of a program whose stdout is closed or whose JVM is gone."""
        last = self._watcher.last_job()
        if isinstance(error, PenstockError) and error.code in ("STDOUT_CLOSED", "JVM_LOST") and last is not None:
            if error.code == "STDOUT_CLOSED":
                discard_stdout()
            redirect_stderr(last[0].log)

    def _report_no_job(self, job: Path) -> None:
        message = f"{job} ended without running a job. A job runs when env.execute() is called."
        if self._as_json:
            print_event(event="no_job", message=message)
        else:
            print(f"penstock: {message}", file=sys.stderr)

    def _report_interrupt(self) -> None:
        last = self._watcher.last_job()
        status, error = (None, None) if last is None else (last[0].status, last[0].error)
        if status == "failed" and error is not None:
            self._report(ErrorReport(error.code, error.text))
        elif status == "finished":
            self._report(ErrorReport("STOPPED", "The job was stopped after its running batch."))
        else:
            self._report(ErrorReport("CANCELLED", "The program was interrupted."))
        if last is not None:
            redirect_stderr(last[0].log)

    def report_error(self, error: Exception) -> None:
        """Prints an error, with its stack trace if --verbose is set."""
        if self.verbose:
            traceback.print_exc()
        self._report(describe_error(error))

    def _report(self, error: ErrorReport) -> None:
        """Prints an error, where the output of Spark is, and how to resume the job."""
        last = self._watcher.last_job()
        log = last[0].log if last is not None and not self.verbose else ""
        resumable = last[0] if last is not None and (last[1].batches or last[0].runs > 1) else None
        if resumable is not None and resumable.status == "finished":
            resumable = None  # a later statement of the program failed; this job has nothing left to do
        checkpoint = (resumable.checkpoint or None) if resumable is not None else None
        command = resume_command(resumable) if resumable is not None else ""
        if self._as_json:
            found = {"log": log or None, "checkpoint": checkpoint, "resume": command or None}
            print_event(event="failed", code=error.code, message=error.message, **found)
            return
        if isinstance(self._watcher, TerminalWatcher):
            self._watcher.hide_board()
        print(error.stack or f"penstock: [{error.code}] {error.message}", file=sys.stderr)
        on_spark = last is None or last[0].master != IN_PROCESS
        if log and on_spark:
            print(f"penstock: Spark's output is in {log}; --verbose shows it here", file=sys.stderr)
        if command:
            print(f"penstock: resume with: {command}", file=sys.stderr)
