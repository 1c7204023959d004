"""`penstock diagnose`: shows why a job is slow, or that no problem was found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from penstock.cli.arguments import Job
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.cli.render.times import format_time
from penstock.jobs.actions.diagnose import JobDiagnosis, diagnose_job
from penstock.jobs.registry.registry import registry_of
from penstock.units import format_count, format_duration


def diagnose(job: Job, as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Find out why a job is slow: the cause, the evidence, and what to do."""
    registry = registry_of()
    with error_exit():
        entry = registry.find(job)
    result = diagnose_job(registry, entry)
    if as_json:
        print(json.dumps(result.as_dict()))
        return
    console = output_console()
    for part in diagnosis_report(result, entry.name):
        console.print(part)


def diagnosis_report(result: JobDiagnosis, job: str) -> Iterator[RenderableType]:
    """The findings, the most likely cause first."""
    diagnosis = result.diagnosis
    examined = f"the last {format_count(diagnosis.checkpoints, 'checkpoint', 'checkpoints')} of {job}"
    if not diagnosis.findings and not diagnosis.enough:
        yield Text(f"Not enough data yet: {examined}. Try again in a while.", style="yellow")
        return
    if not diagnosis.findings:
        yield Text(f"No problem found in {examined}.", style="green")
        return
    for finding in diagnosis.findings:
        age = format_duration(max(0.0, result.at - finding.since))
        since = f"  since {format_time(finding.since).split()[1]}, {age}"
        yield Text.assemble((finding.title, "bold red"), (since, "dim"))
        for line in finding.evidence:
            yield _bullet("·", line, "")
        for line in finding.advice:
            yield _bullet("→", line, "cyan")
        yield Text()
    yield Text(f"Based on {examined}; 'penstock checkpoints {job}' shows them.", style="dim")


def _bullet(mark: str, line: str, style: str) -> Padding:
    return Padding(Text.assemble(f"{mark} ", (line, style)), (0, 0, 0, 2))
