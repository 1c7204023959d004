"""`penstock run --detached`: starts a program in the background."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from penstock.config import Configuration
from penstock.errors import JobError
from penstock.jobs.actions.start import StartedProgram, start_program
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.registry import registry_of

_LAST_LINES = 15


def run_detached(launch: Launch, as_json: bool) -> None:
    """Starts the program, waits until its first job runs, and prints the id of the job or the reason why there is none."""
    started = start_program(registry_of(Configuration(launch.options)), launch)
    entry = started.job
    if entry is None:
        raise _no_job(started, launch.script)
    if as_json:
        print(json.dumps({"job_id": entry.id, "name": entry.name, "pid": started.pid, "log": started.log}))
    else:
        print(entry.id)
        print(
            f"penstock: '{entry.name}' runs as process {started.pid}; penstock logs {entry.id[:8]} --follow shows its output",
            file=sys.stderr,
        )
        if entry.waits and not entry.is_over:
            print(f"penstock: '{entry.name}' {entry.waits}", file=sys.stderr)
    if entry.status == "failed" and entry.error is not None:
        raise JobError(entry.error.code, entry.error.text)


def _no_job(started: StartedProgram, job: str) -> typer.Exit:
    """Prints the last output of a program that ended without a job. Returns the exit."""
    lines = Path(started.log).read_text(errors="replace").splitlines()
    print("\n".join(lines[-_LAST_LINES:]), file=sys.stderr)
    code = started.exit_code or 0
    ended = "ended without running a job" if code == 0 else f"ended with exit code {code} before a job ran"
    print(f"penstock: {job} {ended}; its output is in {started.log}", file=sys.stderr)
    return typer.Exit(code if code > 0 else 1)
