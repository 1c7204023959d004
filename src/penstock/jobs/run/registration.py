"""Records in the registry how a program was started and how its run ended."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from penstock.config import Configuration
from penstock.engine.program.program import Program
from penstock.errors import PenstockError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.registry.entry import Failure, JobEntry
from penstock.jobs.registry.launch import current_launch
from penstock.jobs.registry.process import this_process
from penstock.jobs.registry.progress import OperatorProgress
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.run.run import Run
from penstock.redaction import redact, redact_command

_CANCELED = "JOB_CANCELED"


def register(
    program: Program,
    checkpoint: Checkpoint,
    configuration: Configuration,
    place: tuple[int, str],
    master: str,
    web: str = "",
    local: str = "",
) -> Run:
    """Registers a job that is about to start.

    `place` is its number among the jobs of the program and the id of the first one, `web` the address of Spark's pages, and
    `local` the folder of its working copies.
    """
    entry = JobEntry(
        id=checkpoint.job_id,
        name=program.name,
        process=this_process(),
        program=program_command(),
        master=master,
        checkpoint=checkpoint.resumable_path,
        parallelism=program.parallelism,
        web=web,
        version=installed_version(),
        local=local,
        batch=program.batch_mode,
        from_savepoint=checkpoint.from_savepoint,
        launch=current_launch(checkpoint.settings if checkpoint.persistent else None, *place),
    )
    operators = [OperatorProgress(uid, name, kind) for kind, uid, name in program.components()]
    return Run(registry_of(configuration), entry, operators, configuration)


def program_command() -> str:
    """The program and its arguments as a shell command."""
    program = sys.argv[0] if sys.argv else ""
    path = os.path.abspath(program) if os.path.exists(program) else program or "python"
    return shlex.join(redact_command([path, *sys.argv[1:]]))


def installed_version() -> str:
    """The version of Penstock; empty if it is not installed, but run from a folder or a zip file."""
    try:
        return version("penstock")
    except PackageNotFoundError:
        return ""


@contextmanager
def end_run_on_error(run: Run) -> Iterator[None]:
    """Ends the run as failed or cancelled if the block raises an error."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt):
        run.end("cancelled")
        raise
    except PenstockError as error:
        if error.code == _CANCELED:
            run.end("cancelled")
        else:
            run.end("failed", Failure(error.code, error.text))
        raise
    except BaseException as error:
        run.end("failed", Failure(type(error).__name__, redact(str(error))[:2000]))
        raise


@contextmanager
def end_run(run: Run) -> Iterator[None]:
    """Ends the run at the end of the block: as finished, or as failed or cancelled if the block raises an error."""
    with end_run_on_error(run):
        yield
    run.end("finished")
