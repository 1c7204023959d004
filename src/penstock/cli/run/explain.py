"""`penstock explain`: shows the jobs of a program as they would run, and runs none of them."""

from __future__ import annotations

import io
import json
import runpy
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.captured import ENGINE_NAME, Look, captured, looks
from penstock.cli.defaults import defaults
from penstock.cli.failure import failure_of
from penstock.cli.job_tree import job_tree
from penstock.cli.program_arguments import AsPyFlink, Master, ProgramArgs, ProgramFile, Settings
from penstock.cli.run import as_main_program, as_pyflink, given
from penstock.config import ENGINE
from penstock.errors import PenstockError
from penstock.plan.drawing import svg
from penstock.plan.explained import ExplainedJob
from penstock.plan.mermaid import mermaid

_WIDE = 400  # columns where there is no terminal: lines are not folded


def explain(
    job: ProgramFile,
    args: ProgramArgs = None,
    svg_file: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw a picture into this file.")
    ] = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="As text of Mermaid.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON: a list of jobs.")] = False,
    pyflink: AsPyFlink = False,
    master: Master = None,
    settings: Settings = None,
) -> None:
    """Show how a program's jobs will run: levels, steps, how elements travel, state and windows.

    The program is run up to the end, with jobs that do nothing instead of its own: no Spark is started, nothing is read
    and nothing is written. What it prints itself is not shown.

    Exit codes: 0 shown, 1 the program failed before it had a job, 2 the command is wrong.
    """
    try:
        jobs = jobs_of(job, args or [], settings or [], master, pyflink)
    except PenstockError as error:
        print(f"penstock: [{error.code}] {error.text}", file=sys.stderr)
        raise typer.Exit(1) from None
    if svg_file is not None:
        for path in _draw(jobs, svg_file):
            print(f"penstock: drew {path}", file=sys.stderr)
    elif as_json:
        print(json.dumps([j.as_dict() for j in jobs], indent=2))
    elif as_mermaid:
        print("\n".join(mermaid(j) for j in jobs), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else _WIDE)
        for number, found in enumerate(jobs):
            if number:
                console.print()
            console.print(job_tree(found))


def jobs_of(
    job: Path,
    args: list[str],
    settings: list[str],
    master: str | None,
    pyflink: bool,
    look: Look | None = None,
) -> list[ExplainedJob]:
    """The jobs that a program would run; what goes wrong after the first of them is told and does not matter."""
    captured.clear()
    looks[:] = [] if look is None else [look]
    options = given([*settings, f"{ENGINE.key}={ENGINE_NAME}"], None, master)
    with as_pyflink(options) if pyflink else nullcontext(), defaults(options), as_main_program(job, args):
        try:
            with redirect_stdout(io.StringIO()):
                runpy.run_path(str(job), run_name="__main__")
        except SystemExit:
            pass
        except Exception as error:
            failure = failure_of(error)
            print(failure.stack or f"penstock: [{failure.code}] {failure.text}", file=sys.stderr)
            if not captured:
                raise typer.Exit(1) from None
            print("penstock: the program failed after this, for want of a job's results.", file=sys.stderr)
    if not captured:
        print(f"penstock: {job} ended without a job; call execute() on its environment.", file=sys.stderr)
        raise typer.Exit(1)
    return list(captured)


def _draw(jobs: list[ExplainedJob], target: Path) -> list[Path]:
    """One file, or one for each of several jobs."""
    paths = [target if n == 1 else target.with_stem(f"{target.stem}-{n}") for n in range(1, len(jobs) + 1)]
    for path, job in zip(paths, jobs, strict=True):
        path.write_text(svg(job), encoding="utf-8")
    return paths
