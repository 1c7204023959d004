"""The command `penstock`: one file per command."""

from __future__ import annotations

from typing import Annotated

import typer

import penstock
from penstock.cli.checkpoints import checkpoints
from penstock.cli.demo import demo
from penstock.cli.dev import dev_app
from penstock.cli.diagnose import diagnose
from penstock.cli.doctor import doctor
from penstock.cli.ending import cancel, stop
from penstock.cli.explain import explain
from penstock.cli.fork import fork
from penstock.cli.info import info
from penstock.cli.jars import jars
from penstock.cli.limiting import limit
from penstock.cli.listing import list_jobs
from penstock.cli.logs import logs
from penstock.cli.options import options
from penstock.cli.replay import replay
from penstock.cli.rescale import rescale
from penstock.cli.run import run
from penstock.cli.savepoint import savepoint
from penstock.cli.savepoints import savepoints_app
from penstock.cli.state import state_app

app = typer.Typer(
    name="penstock",
    help="Apache Flink's programming model for Python, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(run)
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
app.command()(fork)
app.command()(replay)
app.command()(rescale)
app.command()(doctor)
app.add_typer(dev_app)
app.command()(jars)
app.command()(demo)
app.command()(options)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def _penstock(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Holds the options that belong to no command."""
