"""`penstock explain`: shows how the jobs of a program would run, without running them."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.arguments import AsPyFlink, Master, ProgramArgs, ProgramFile, Settings
from penstock.cli.render.error_exit import describe_error, error_exit
from penstock.cli.render.job_tree import job_tree
from penstock.cli.run.captured_jobs import ENGINE_NAME, Inspect, capture_jobs
from penstock.cli.run.program import program_environment, run_file
from penstock.cli.run.settings import run_options
from penstock.config.execution_options import ENGINE
from penstock.plan.explain.job_description import ExplainedJob
from penstock.plan.explain.mermaid import mermaid
from penstock.plan.explain.svg import svg

_WIDE = 400  # columns if the output is not a terminal, so that lines are not wrapped


def explain(
    job: ProgramFile,
    args: ProgramArgs = None,
    svg_file: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write a diagram to this SVG file.")
    ] = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid diagram.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON: a list of jobs.")] = False,
    pyflink: AsPyFlink = False,
    master: Master = None,
    settings: Settings = None,
) -> None:
    """Show how the jobs of a program will run: levels, steps, partitioning, state and windows.

    The program runs to its end, but its jobs do nothing. Spark is not started, and nothing is read or written. What the
    program itself prints is not shown.

    Exit codes: 0 shown, 1 the program failed before its first job, 2 wrong arguments.
    """
    with error_exit():
        jobs = explain_program(job, args or [], settings or [], master, pyflink)
    if svg_file is not None:
        for path in _write_svg(jobs, svg_file):
            print(f"penstock: wrote {path}", file=sys.stderr)
    elif as_json:
        print(json.dumps([j.as_dict() for j in jobs], indent=2))
    elif as_mermaid:
        print("\n".join(mermaid(j) for j in jobs), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else _WIDE)
        for number, explained in enumerate(jobs):
            if number:
                console.print()
            console.print(job_tree(explained))


def explain_program(
    job: Path,
    args: list[str],
    settings: list[str],
    master: str | None,
    pyflink: bool,
    inspect: Inspect | None = None,
) -> list[ExplainedJob]:
    """Returns the jobs that a program would run. `inspect` is called with each of them.

    An error after the first job is printed and ignored, because the program may depend on results that do not exist.
    """
    options = run_options([*settings, f"{ENGINE.key}={ENGINE_NAME}"], master=master)
    with capture_jobs(inspect) as captured, program_environment(options, pyflink):
        try:
            with redirect_stdout(io.StringIO()):
                run_file(job, args)
        except SystemExit:
            pass
        except Exception as error:
            report = describe_error(error)
            print(report.stack or f"penstock: [{report.code}] {report.message}", file=sys.stderr)
            if not captured.jobs:
                raise typer.Exit(1) from None
            print("penstock: the program failed after this point, because its jobs have no results", file=sys.stderr)
    if not captured.jobs:
        print(f"penstock: {job} ended without a job; call execute() on its environment", file=sys.stderr)
        raise typer.Exit(1)
    return captured.jobs


def _write_svg(jobs: list[ExplainedJob], target: Path) -> list[Path]:
    """Writes one file per job; the names of the second and later ones get a number."""
    paths = [target if n == 1 else target.with_stem(f"{target.stem}-{n}") for n in range(1, len(jobs) + 1)]
    for path, job in zip(paths, jobs, strict=True):
        path.write_text(svg(job), encoding="utf-8")
    return paths
