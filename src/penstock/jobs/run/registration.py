"""Records in the registry how a program was started and how its run ended."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from penstock.errors import PenstockError
from penstock.jobs.registry.entry import Failure
from penstock.jobs.run.run import Run
from penstock.redaction import redact, redact_command

_CANCELED = "JOB_CANCELED"


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
