"""`penstock dev`: starts and stops servers for development on this machine."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from penstock.cli.dev.jars import Versions
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.fetch_progress import parse_versions, show_steps
from penstock.cli.render.output_console import output_console
from penstock.devservers import user_servers as dev
from penstock.devservers.kinds import KINDS
from penstock.devservers.user_servers import ServerEntry

_NAMES = ", ".join(KINDS)
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]

dev_app = typer.Typer(
    name="dev",
    help="Start and stop servers for development, on 127.0.0.1.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dev_app.command()
def up(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"The server: {_NAMES}.")],
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The port. Default: a free port.")] = None,
    version: Versions = None,
    as_json: AsJson = False,
) -> None:
    """Start a server, unless it is running, and wait until it answers. Prints its address."""
    with error_exit(), show_steps(f"dev up {name}", silent=as_json) as step:
        entry, new = dev.up(name, port, parse_versions(version), step)
    if as_json:
        print(json.dumps(_as_dict(entry)))
        return
    print(entry.address)
    status = "has started" if new else "is already running"
    print(f"penstock: {name} {entry.version} {status}, process {entry.process.pid}; log {entry.log}", file=sys.stderr)


@dev_app.command()
def down(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The server. Default: all servers.")] = None,
    delete_data: Annotated[bool, typer.Option("--delete-data", help="Also delete its data.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop servers that 'dev up' has started. Other servers are not affected."""
    with error_exit():
        for one in [name] if name else list(KINDS):
            entry = dev.down(one, delete_data)
            if entry is None:
                if name:
                    print(f"penstock: {one} is not running", file=sys.stderr)
            elif as_json:
                print(json.dumps({**_as_dict(entry), "status": "stopped"}))
            else:
                print(f"{one} stopped")


@dev_app.command()
def status(as_json: AsJson = False) -> None:
    """List the servers that 'dev up' has started."""
    entries = dev.entries()
    if as_json:
        for entry in entries:
            print(json.dumps(_as_dict(entry)))
        return
    console = output_console()
    if not entries:
        console.print(
            f"No server is running. 'penstock dev up NAME' starts one of: {_NAMES}.", style="dim", soft_wrap=True
        )
        return
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("server", "version", "address", "status", "process"):
        table.add_column(heading, no_wrap=True)
    for entry in entries:
        table.add_row(entry.name, entry.version, entry.address, entry.status, str(entry.process.pid))
    console.print(table)


def _as_dict(entry: ServerEntry) -> dict[str, Any]:
    """A server as JSON values."""
    return {
        "name": entry.name,
        "version": entry.version,
        "address": entry.address,
        "port": entry.port,
        "status": entry.status,
        "pid": entry.process.pid,
        "log": entry.log,
    }
