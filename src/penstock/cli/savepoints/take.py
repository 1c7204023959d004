"""`penstock savepoint`: take a savepoint of a running job."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import msgspec
import typer

from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.cli.words import counted, size_of
from penstock.connectors.file.system import absolute
from penstock.jobs import requests
from penstock.jobs.registry import registry_of
from penstock.jobs.savepoints import End, SavepointAnswer, ask_savepoint, wait_for

To = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="FOLDER", help="Where: the savepoint is a new folder in it. Not given: the job's default."
    ),
]


def savepoint(
    job: Job,
    to: To = None,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for it.")] = 600.0,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Take a savepoint of a running job, which goes on; prints its path."""
    save(job, to, "", wait, as_json)


def save(job: str, to: str | None, end: End, wait: float, as_json: bool) -> None:
    """Asks for a savepoint, tells how far it is, and prints where it is."""
    registry = registry_of()
    progress = _Progress()
    with told():
        entry = registry.find(job)
        request = ask_savepoint(registry, entry, "" if to is None else absolute(to), end)
        try:
            answer = wait_for(registry, entry, request, wait, progress.show)
        finally:
            progress.clear()
    if end:
        requests.wait_until_over(registry, entry.id, wait)
    if as_json:
        print(json.dumps(msgspec.to_builtins(answer)))
        return
    print(answer.path)
    files = counted(answer.parts, "file", "files")
    print(
        f"penstock: batch {answer.batch}, {answer.entries:,} entries, {size_of(answer.bytes)} in {files}, {answer.seconds:.1f} s",
        file=sys.stderr,
    )
    if end != "drain":
        print(f"penstock: start a job with it by --from-savepoint {answer.path}", file=sys.stderr)


class _Progress:
    """One line on a terminal, replaced as the savepoint grows."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, answer: SavepointAnswer) -> None:
        text = {
            "asked": "waiting for an earlier savepoint",
            "taking": "waiting for the batch",
            "writing": f"files {answer.written}/{answer.parts}, {size_of(answer.bytes)}",
        }.get(answer.status, "")
        if text != self._shown and sys.stderr.isatty():
            print(f"\r\033[Kpenstock: savepoint: {text}", end="", file=sys.stderr, flush=True)
            self._shown = text

    def clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = ""
