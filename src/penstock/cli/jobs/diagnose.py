"""`penstock diagnose`: why a job is slow, or that nothing is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.cli.words import counted, moment, span_of
from penstock.jobs import diagnosis
from penstock.jobs.diagnosis import Diagnosis
from penstock.jobs.entry import JobEntry
from penstock.jobs.history import History
from penstock.jobs.registry import registry_of


def diagnose(job: Job, as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Say why a job is slow: the cause, the numbers that show it, and what to do."""
    registry = registry_of()
    with told():
        entry = registry.find(job)
    history = History(registry.job_folder(entry.id)).latest()
    now = entry.ended or entry.updated if entry.is_over else time.time()
    found = diagnosis.diagnose(history, now, entry.waits)
    if as_json:
        print(json.dumps(described(entry, found)))
        return
    console = Console(highlight=False)
    for part in pages(entry, found, now):
        console.print(part)


def described(entry: JobEntry, found: Diagnosis) -> dict[str, Any]:
    """A diagnosis for programs."""
    return {"job": entry.id, "cause": found.cause, **msgspec.to_builtins(found)}


def pages(entry: JobEntry, found: Diagnosis, now: float) -> Iterator[RenderableType]:
    """What is shown: the likeliest cause first."""
    looked_at = f"the last {counted(found.checkpoints, 'checkpoint', 'checkpoints')} of {entry.name}"
    if not found.findings and not found.enough:
        yield Text(f"Too little is known yet: {looked_at}. Ask again in a while.", style="yellow")
        return
    if not found.findings:
        yield Text(f"Nothing is wrong, by {looked_at}.", style="green")
        return
    for finding in found.findings:
        since = f"  since {moment(finding.since).split()[1]}, {span_of(max(0.0, now - finding.since))}"
        yield Text.assemble((finding.title, "bold red"), (since, "dim"))
        for line in finding.evidence:
            yield _point("·", line, "")
        for line in finding.advice:
            yield _point("→", line, "cyan")
        yield Text()
    yield Text(f"By {looked_at}; 'penstock checkpoints {entry.name}' shows them.", style="dim")


def _point(mark: str, line: str, style: str) -> Padding:
    return Padding(Text.assemble(f"{mark} ", (line, style)), (0, 0, 0, 2))
