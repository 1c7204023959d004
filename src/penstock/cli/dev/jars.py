"""`penstock jars`: downloads jars in advance, so that no network is needed later."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.fetch_progress import parse_versions, show_steps
from penstock.cli.render.output_console import output_console
from penstock.devservers.jars import bundle_folder, get_jars, is_cached
from penstock.devservers.versions import BUNDLES, chosen_versions, version_variable
from penstock.units import format_count, format_size

Versions = Annotated[
    list[str] | None,
    typer.Option("--version", metavar="NAME=VERSION", help="Use another version than the default; can be repeated."),
]


def jars(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The jars to fetch. Without it, all are listed.")
    ] = None,
    version: Versions = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Download jars into the cache, or verify those that are there.

    The cache is ~/.cache/penstock, or the folder in PENSTOCK_CACHE.
    """
    with error_exit():
        if name is None:
            _list(chosen_versions(parse_versions(version)), as_json)
            return
        with show_steps(f"downloading {name}", silent=as_json) as step:
            found = get_jars(name, parse_versions(version), step)
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
        status = "downloaded" if found.fetched else "already in the cache, checksums verified"
        print(f"{found.folder}: {format_count(len(found.files), 'jar', 'jars')}, {format_size(found.size)}, {status}")


def _list(versions: dict[str, str], as_json: bool) -> None:
    rows = [(b, b.resolved(versions), is_cached(bundle_folder(b, versions))) for b in BUNDLES.values()]
    if as_json:
        jars = {b.name: {"artifacts": artifacts, "cached": there} for b, artifacts, there in rows}
        print(
            json.dumps(
                {
                    "jars": jars,
                    "versions": {n: {"version": v, "variable": version_variable(n)} for n, v in versions.items()},
                }
            )
        )
        return
    table = Table.grid(padding=(0, 2))
    for bundle, artifacts, there in rows:
        table.add_row(bundle.name, f"{bundle.about} ({'in the cache' if there else 'not downloaded yet'})")
        for artifact in artifacts:
            table.add_row("", artifact)
    table.add_row("versions", ", ".join(f"{name} {version}" for name, version in versions.items()))
    table.add_row("", "to use others: --version kafka=..., or the environment variable PENSTOCK_VERSION_KAFKA")
    output_console().print(table)
