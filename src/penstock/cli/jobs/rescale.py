"""`penstock rescale`: restarts a job with another parallelism."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.arguments import Job
from penstock.cli.render.error_exit import error_exit
from penstock.jobs.actions.rescale import RESCALE_STEPS, RescaleProgress, rescale_job
from penstock.jobs.registry.registry import registry_of


def rescale(
    job: Job,
    parallelism: Annotated[int, typer.Option("--parallelism", "-p", metavar="N", min=1, help="The new parallelism.")],
    savepoint_dir: Annotated[
        str,
        typer.Option(
            "--savepoint-dir", metavar="DIR", help="The folder for the savepoint. Default: as in the job's options."
        ),
    ] = "",
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long each step may take.")
    ] = 600.0,
) -> None:
    """Change the parallelism of a running job: take a savepoint, stop the job, and start its program from there.

    The new job has its own id and runs in the background, as after `penstock run --detached`. Prints its id.
    """
    registry = registry_of()
    with error_exit():
        entry = registry.find_running(job, "rescale")
        with _show_progress(f"rescale {entry.id[:8]} to {parallelism}") as on_progress:
            rescaled = rescale_job(
                registry, entry, parallelism, directory=savepoint_dir, wait=wait, on_progress=on_progress
            )
    new = rescaled.job
    print(new.id)
    print(
        f"penstock: '{new.name}' runs with parallelism {new.parallelism} (before: {rescaled.previous_parallelism}), started from "
        f"{rescaled.savepoint}; penstock logs {new.id[:8]} --follow shows its output",
        file=sys.stderr,
    )


@contextmanager
def _show_progress(title: str) -> Iterator[Callable[[RescaleProgress], None]]:
    """A progress bar on a terminal; otherwise one line per step."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        last = ""

        def print_step(progress: RescaleProgress) -> None:
            nonlocal last
            if progress.step != last:
                console.print(f"penstock: {title}: {progress.step}", soft_wrap=True)
            last = progress.step

        yield print_step
        return
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=RESCALE_STEPS)
        yield lambda p: bar.update(task, completed=p.completed, description=f"{title}: {p.step}")
