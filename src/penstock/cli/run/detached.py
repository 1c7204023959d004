"""`penstock run --detached`: a process of its own, that lives on when the terminal closes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import typer

from penstock.config import Configuration
from penstock.errors import JobError
from penstock.jobs.entry import JobEntry
from penstock.jobs.launch import Launch
from penstock.jobs.registry import Registry, registry_of

_POLL = 0.1
_LAST_LINES = 15


def run_detached(job: Path, args: list[str], options: dict[str, Any], as_json: bool, pyflink: bool = False) -> None:
    """Starts the program, waits until its first job runs, and prints the job's id; or says why it does not run."""
    registry = registry_of(Configuration(options))
    log = new_log(registry)
    launch = Launch(str(job), args, "", options, pyflink)
    process = start(launch.command({}, ["--log", str(log)]), log)
    entry = first_job(registry, process)
    if entry is None:
        _tell_why(process, job, log)
        return
    if as_json:
        print(json.dumps({"job_id": entry.id, "name": entry.name, "pid": process.pid, "log": str(log)}))
    else:
        print(entry.id)
        print(
            f"penstock: '{entry.name}' runs as process {process.pid}; penstock logs {entry.id[:8]} --follow shows its output",
            file=sys.stderr,
        )
    if entry.status == "failed" and entry.error is not None:
        raise JobError(entry.error.code, entry.error.text)


def new_log(registry: Registry) -> Path:
    """The log of a process that is about to start."""
    registry.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    registry.logs.mkdir(exist_ok=True)
    return registry.logs / f"{time.strftime('%Y%m%d-%H%M%S')}-detached-{os.getpid()}.log"


def start(command: list[str], log: Path, folder: str | None = None) -> subprocess.Popen[bytes]:
    """Starts a process that lives on when this one ends."""
    with open(log, "ab") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder
        )


def first_job(registry: Registry, process: subprocess.Popen[bytes]) -> JobEntry | None:
    """The first job of a process, once it runs or is over; None when the process ends without one."""
    began = time.time() - 1
    while True:
        over = process.poll() is not None  # asked before the registry, so that a last entry is seen
        for entry in registry.entries():
            mine = entry.process.pid == process.pid and entry.process.is_here and entry.started >= began
            if mine and (entry.status != "created" or over):
                return entry
        if over:
            return None
        time.sleep(_POLL)


def _tell_why(process: subprocess.Popen[bytes], job: Path, log: Path) -> None:
    """The program ended without a job: what it said is all there is."""
    lines = log.read_text(errors="replace").splitlines()
    print("\n".join(lines[-_LAST_LINES:]), file=sys.stderr)
    code = process.returncode
    ended = "ended without running a job" if code == 0 else f"ended with exit code {code} before a job ran"
    print(f"penstock: {job} {ended}; its output is in {log}", file=sys.stderr)
    raise typer.Exit(code if code > 0 else 1)
