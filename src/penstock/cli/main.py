"""The command `penstock`. Each command has its own module."""

from __future__ import annotations

from typing import Annotated

import typer

import penstock
from penstock.cli.dev.doctor import doctor
from penstock.cli.dev.jars import jars
from penstock.cli.dev.options import options
from penstock.cli.dev.servers import dev_app
from penstock.cli.jobs.checkpoints import checkpoints
from penstock.cli.jobs.diagnose import diagnose
from penstock.cli.jobs.info import info
from penstock.cli.jobs.limit import limit
from penstock.cli.jobs.list_jobs import list_jobs
from penstock.cli.jobs.logs import logs
from penstock.cli.jobs.rescale import rescale
from penstock.cli.jobs.stop import cancel, stop
from penstock.cli.run.demo import demo
from penstock.cli.run.explain import explain
from penstock.cli.run.fork import fork
from penstock.cli.run.program_arguments import ProgramArgumentsCommand
from penstock.cli.run.replay import replay
from penstock.cli.run.resume import resume
from penstock.cli.run.run import run
from penstock.cli.savepoints.group import savepoints_app
from penstock.cli.savepoints.take import savepoint
from penstock.cli.state.state import state_app

app = typer.Typer(
    name="penstock",
    help="Apache Flink's programming model for Python, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command(cls=ProgramArgumentsCommand)(resume)
app.command()(explain)
app.command("list")(list_jobs)
app.command()(info)
app.command()(checkpoints)
app.command()(diagnose)
app.command()(logs)
app.command()(stop)
app.command()(cancel)
app.command()(savepoint)
app.add_typer(savepoints_app)
app.command()(limit)
app.add_typer(state_app)
app.command(cls=ProgramArgumentsCommand)(fork)
app.command(cls=ProgramArgumentsCommand)(replay)
app.command()(rescale)
app.command()(doctor)
app.add_typer(dev_app)
app.command()(jars)
app.command()(demo)
app.command()(options)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def _penstock(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of the command itself."""
