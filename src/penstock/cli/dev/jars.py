"""`penstock jars`: fetches jars before they are needed, so that no network is needed later."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from penstock.cli.failure import told
from penstock.cli.fetching import fetching, versions_in
from penstock.cli.words import counted, size_of
from penstock.servers.jars import folder_of, is_there, jars_of
from penstock.servers.versions import BUNDLES, chosen_versions, variable_of

Versions = Annotated[
    list[str] | None,
    typer.Option("--version", metavar="NAME=VERSION", help="Another version than the table's; may be given again."),
]


def jars(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which jars; without it, all are listed.")] = None,
    version: Versions = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Fetch jars into the cache, or check those that are there.

    The cache is ~/.cache/penstock, or the folder in PENSTOCK_CACHE.
    """
    with told():
        if name is None:
            _list(chosen_versions(versions_in(version)), as_json)
            return
        with fetching(f"fetching {name}", silent=as_json) as step:
            found = jars_of(name, versions_in(version), step)
    if as_json:
        print(
            json.dumps(
                {
                    "name": name,
                    "folder": str(found.folder),
                    "files": [str(file) for file in found.files],
                    "fetched": found.fetched,
                }
            )
        )
    else:
        how = "fetched" if found.fetched else "already there, checksums verified"
        print(f"{found.folder}: {counted(len(found.files), 'jar', 'jars')}, {size_of(found.size)}, {how}")


def _list(versions: dict[str, str], as_json: bool) -> None:
    rows = [(b, b.resolved(versions), is_there(folder_of(b, versions))) for b in BUNDLES.values()]
    if as_json:
        jars = {b.name: {"artifacts": artifacts, "cached": there} for b, artifacts, there in rows}
        print(
            json.dumps(
                {"jars": jars, "versions": {n: {"version": v, "variable": variable_of(n)} for n, v in versions.items()}}
            )
        )
        return
    table = Table.grid(padding=(0, 2))
    for bundle, artifacts, there in rows:
        table.add_row(bundle.name, f"{bundle.about} ({'in the cache' if there else 'not fetched yet'})")
        for artifact in artifacts:
            table.add_row("", artifact)
    table.add_row("versions", ", ".join(f"{name} {version}" for name, version in versions.items()))
    table.add_row("", "another one: --version kafka=..., or the variable PENSTOCK_VERSION_KAFKA")
    Console(highlight=False).print(table)
