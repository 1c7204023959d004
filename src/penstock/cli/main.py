"""The command `penstock`. Each command has its own module, which is imported when the command runs."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import penstock
from penstock.cli.run.program_arguments import ProgramArgumentsCommand

# Commands and groups of commands, in the order of the help. `penstock run` must not wait for the imports of the others.
COMMANDS = {
    "run": "penstock.cli.run.run:run",
    "resume": "penstock.cli.run.resume:resume",
    "explain": "penstock.cli.run.explain:explain",
    "sql": "penstock.cli.sql.sql:sql",
    "list": "penstock.cli.jobs.list_jobs:list_jobs",
    "info": "penstock.cli.jobs.info:info",
    "checkpoints": "penstock.cli.jobs.checkpoints:checkpoints",
    "diagnose": "penstock.cli.jobs.diagnose:diagnose",
    "logs": "penstock.cli.jobs.logs:logs",
    "stop": "penstock.cli.jobs.stop:stop",
    "cancel": "penstock.cli.jobs.stop:cancel",
    "savepoint": "penstock.cli.savepoints.take:savepoint",
    "limit": "penstock.cli.jobs.limit:limit",
    "fork": "penstock.cli.run.fork:fork",
    "replay": "penstock.cli.run.replay:replay",
    "rescale": "penstock.cli.jobs.rescale:rescale",
    "doctor": "penstock.cli.dev.doctor:doctor",
    "jars": "penstock.cli.dev.jars:jars",
    "demo": "penstock.cli.run.demo:demo",
    "options": "penstock.cli.dev.options:options",
    "savepoints": "penstock.cli.savepoints.group:savepoints_app",
    "state": "penstock.cli.state.state:state_app",
    "dev": "penstock.cli.dev.servers:dev_app",
}

# Commands that take arguments of a program after `--`.
_WITH_PROGRAM_ARGUMENTS = ("resume", "fork", "replay")


def load_command(name: str) -> Any:
    """Imports the function of a command, or the `Typer` of a group."""
    module, _, attribute = COMMANDS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


class LazyCommands(TyperGroup):
    """Imports a command when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        loaded = load_command(cmd_name)
        parent = typer.Typer(add_completion=False, rich_markup_mode=None)  # groups inherit its settings
        if isinstance(loaded, typer.Typer):
            parent.add_typer(loaded, name=cmd_name)
        else:
            kind = ProgramArgumentsCommand if cmd_name in _WITH_PROGRAM_ARGUMENTS else None
            parent.command(cmd_name, cls=kind)(loaded)
        return typer.main.get_group(parent).get_command(ctx, cmd_name)


app = typer.Typer(
    name="penstock",
    help="Apache Flink's programming model for Python, on Spark.",
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
