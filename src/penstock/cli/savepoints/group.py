"""`penstock savepoints`: the group of commands for savepoints."""

from __future__ import annotations

import typer

from penstock.cli.savepoints.check import savepoint_check
from penstock.cli.savepoints.files import delete_savepoint, list_savepoints, prune_savepoints, show, verify

savepoints_app = typer.Typer(
    name="savepoints", help="List, check and remove savepoints.", no_args_is_help=True, rich_markup_mode=None
)
savepoints_app.command("list")(list_savepoints)
savepoints_app.command("show")(show)
savepoints_app.command("verify")(verify)
savepoints_app.command("check")(savepoint_check)
savepoints_app.command("delete")(delete_savepoint)
savepoints_app.command("prune")(prune_savepoints)
