"""`penstock savepoints`: what can be done with savepoints, one command each."""

from __future__ import annotations

import typer

from penstock.cli.savepoint_check import savepoint_check

savepoints_app = typer.Typer(name="savepoints", help="Look at savepoints.", no_args_is_help=True, rich_markup_mode=None)
savepoints_app.command("check")(savepoint_check)
