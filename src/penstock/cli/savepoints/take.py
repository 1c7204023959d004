"""`penstock savepoint`: takes a savepoint of a running job."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import msgspec
import typer

from penstock.cli.arguments import Job, SavepointFolder
from penstock.cli.render.error_exit import error_exit
from penstock.connectors.file.system.file_system import absolute_path
from penstock.jobs.actions.savepoint import take_savepoint
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.registry.savepoint_requests import AfterSavepoint, SavepointProgress
from penstock.units import format_count, format_size


def savepoint(
    job: Job,
    to: SavepointFolder = None,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for it.")] = 600.0,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Take a savepoint of a running job, which continues. Prints the path of the savepoint."""
    take_and_print(job, to, "", wait, as_json)


def take_and_print(job: str, to: str | None, then: AfterSavepoint, wait: float, as_json: bool) -> None:
    """Takes a savepoint, shows its progress, and prints its path."""
    registry = registry_of()
    line = _ProgressLine()
    directory = "" if to is None else absolute_path(to)
    with error_exit():
        entry = registry.find_running(job, "save")
        try:
            result = take_savepoint(registry, entry, directory=directory, then=then, wait=wait, on_progress=line.show)
        finally:
            line.clear()
    if as_json:
        print(json.dumps(msgspec.to_builtins(result)))
        return
    print(result.path)
    files = format_count(result.parts, "file", "files")
    print(
        f"penstock: batch {result.batch}, {result.entries:,} entries, {format_size(result.bytes)} in {files}, "
        f"{result.seconds:.1f} s",
        file=sys.stderr,
    )
    if then != "drain":
        print(f"penstock: start a job from it with --from-savepoint {result.path}", file=sys.stderr)


class _ProgressLine:
    """A line on the terminal that is replaced while the savepoint is written."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, progress: SavepointProgress) -> None:
        text = {
            "asked": "waiting for an earlier savepoint",
            "taking": "waiting for the batch",
            "writing": f"files {progress.written}/{progress.parts}, {format_size(progress.bytes)}",
        }.get(progress.status, "")
        if not text:
            self.clear()
        elif text != self._shown and sys.stderr.isatty():
            print(f"\r\033[Kpenstock: savepoint: {text}", end="", file=sys.stderr, flush=True)
            self._shown = text

    def clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = ""
