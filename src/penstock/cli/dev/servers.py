"""`penstock dev`: servers for development, on this machine only."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.failure import told
from penstock.cli.fetching import fetching, versions_in
from penstock.cli.jars import Versions
from penstock.servers import dev
from penstock.servers.dev import ServerEntry
from penstock.servers.kinds import KINDS

_NAMES = ", ".join(KINDS)
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]

dev_app = typer.Typer(
    name="dev",
    help="Start and stop servers for development, on 127.0.0.1.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dev_app.command()
def up(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"Which server: {_NAMES}.")],
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Its port; a free one is chosen without it.")
    ] = None,
    version: Versions = None,
    as_json: AsJson = False,
) -> None:
    """Start a server and wait until it answers; one that runs already is left as it is. Prints its address."""
    with told(), fetching(f"dev up {name}", silent=as_json) as step:
        entry, new = dev.up(name, port, versions_in(version), step)
    if as_json:
        print(json.dumps(_described(entry)))
        return
    print(entry.address)
    how = "is up" if new else "was up already"
    print(f"penstock: {name} {entry.version} {how}, process {entry.process.pid}; log {entry.log}", file=sys.stderr)


@dev_app.command()
def down(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which server; without it, all.")] = None,
    delete_data: Annotated[bool, typer.Option("--delete-data", help="Remove what it has stored, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the servers that 'dev up' started, and nothing else."""
    with told():
        for one in [name] if name else list(KINDS):
            entry = dev.down(one, delete_data)
            if entry is None:
                if name:
                    print(f"penstock: {one} was not up", file=sys.stderr)
            elif as_json:
                print(json.dumps({**_described(entry), "status": "stopped"}))
            else:
                print(f"{one} stopped")


@dev_app.command()
def status(as_json: AsJson = False) -> None:
    """List the servers that 'dev up' started."""
    entries = dev.entries()
    if as_json:
        for entry in entries:
            print(json.dumps(_described(entry)))
        return
    console = Console(highlight=False)
    if not entries:
        console.print(
            f"No server was started. 'penstock dev up NAME' starts one of: {_NAMES}.", style="dim", soft_wrap=True
        )
        return
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("server", "version", "address", "status", "process"):
        table.add_column(heading, no_wrap=True)
    for entry in entries:
        table.add_row(entry.name, entry.version, entry.address, entry.status, str(entry.process.pid))
    console.print(table)


def _described(entry: ServerEntry) -> dict[str, Any]:
    """A server for programs."""
    return {
        "name": entry.name,
        "version": entry.version,
        "address": entry.address,
        "port": entry.port,
        "status": entry.status,
        "pid": entry.process.pid,
        "log": entry.log,
    }
