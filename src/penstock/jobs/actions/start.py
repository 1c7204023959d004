"""Starts a program in the background and waits for its first job."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.launch import DETACHED_VARIABLE, Launch
from penstock.jobs.registry.registry import Registry

_POLL = 0.1


class StartedProgram(msgspec.Struct, frozen=True):
    """A program that was started in the background."""

    command: list[str]
    pid: int
    log: str  # the file with all of its output
    job: JobEntry | None  # None: the program ended without running a job
    exit_code: int | None  # None: the program is still running


def start_program(registry: Registry, launch: Launch, options: dict[str, Any] | None = None) -> StartedProgram:
    """Starts a program that keeps running when this process ends. Returns when its first job runs or the program has ended.

    `options` are added to the options of the launch and override them.
    """
    log = _new_log_file(registry)
    command = launch.command(options or {}, ["--log", str(log)])
    environment = {**os.environ, DETACHED_VARIABLE: "1"}
    process = start_detached(command, log, folder=launch.folder or None, environment=environment)
    job = _wait_for_first_job(registry, process)
    return StartedProgram(command, process.pid, str(log), job, process.returncode)


def start_detached(
    command: list[str], log: Path | None, folder: str | None = None, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Starts a process that keeps running when this one ends or its terminal closes. Its output is appended to the log."""
    with open(log or os.devnull, "ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=folder,
            env=environment,
        )
    # If this process lives longer, the thread reaps the child, so that it does not remain as a zombie.
    threading.Thread(target=process.wait, name=f"penstock-wait-{process.pid}", daemon=True).start()
    return process


def _new_log_file(registry: Registry) -> Path:
    registry.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    registry.logs.mkdir(exist_ok=True)
    return registry.logs / f"{time.strftime('%Y%m%d-%H%M%S')}-detached-{os.getpid()}.log"


def _wait_for_first_job(registry: Registry, process: subprocess.Popen[bytes]) -> JobEntry | None:
    """Returns the first job of a process once it runs, waits or has ended; None if the process ends without a job."""
    began = time.time() - 1
    while True:
        ended = process.poll() is not None  # checked before the registry is read, so that the last entry is not missed
        for entry in registry.entries():
            of_process = entry.process.pid == process.pid and entry.process.is_here and entry.started >= began
            if of_process and (entry.status != "created" or entry.waits or ended):
                return entry
        if ended:
            return None
        time.sleep(_POLL)
