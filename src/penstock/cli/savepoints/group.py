"""`penstock savepoints`: what can be done with savepoints, one command each."""

from __future__ import annotations

import typer

from penstock.cli.savepoint_check import savepoint_check
from penstock.cli.savepoint_files import delete_savepoint, list_savepoints, prune_savepoints, show, verify

savepoints_app = typer.Typer(name="savepoints", help="Look at savepoints.", no_args_is_help=True, rich_markup_mode=None)
savepoints_app.command("list")(list_savepoints)
savepoints_app.command("show")(show)
savepoints_app.command("verify")(verify)
savepoints_app.command("check")(savepoint_check)
savepoints_app.command("delete")(delete_savepoint)
savepoints_app.command("prune")(prune_savepoints)
