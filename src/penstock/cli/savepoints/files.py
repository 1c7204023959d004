"""`penstock savepoints list`, `show`, `verify`, `delete` and `prune`."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.cli.render.times import format_time, format_watermark
from penstock.config import Configuration
from penstock.config.checkpoint_options import SAVEPOINT_DIR
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.jobs.actions import savepoint_files as actions
from penstock.jobs.registry.registry import registry_of
from penstock.savepoints.catalogue import Retention
from penstock.savepoints.manifest import Manifest
from penstock.savepoints.savepoint import open_savepoint
from penstock.units import format_count, format_duration, format_size

Json = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]
Folder = Annotated[
    str | None, typer.Argument(metavar="[FOLDER]", help="The folder with savepoints. Default: all known savepoints.")
]
Path_ = Annotated[str, typer.Argument(metavar="PATH", help="A savepoint, as `penstock savepoint` printed it.")]


def list_savepoints(folder: Folder = None, as_json: Json = False) -> None:
    """List the savepoints in a folder, or the existing savepoints that jobs of the registry have taken."""
    registry = registry_of()
    with error_exit():
        savepoints = actions.list_savepoints(registry, folder)
    if as_json:
        for savepoint in savepoints:
            print(json.dumps(actions.savepoint_as_dict(registry, savepoint)))
        return
    console = output_console()
    if not savepoints:
        console.print("No savepoints.", style="dim")
        return
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("taken", no_wrap=True)
    table.add_column("job", no_wrap=True, overflow="ellipsis", min_width=4)
    for heading in ("batch", "size"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("path", overflow="fold")
    for savepoint in savepoints:
        manifest = savepoint.manifest
        used = " (in use)" if actions.savepoint_users(registry, savepoint.path) else ""
        created, size = format_time(manifest.created / 1000), format_size(savepoint.size)
        table.add_row(created, manifest.job_name, str(manifest.batch), size, savepoint.path + used)
    console.print(table)


def show(path: Path_, as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Show the content of a savepoint: operators and states, source positions, watermarks."""
    with error_exit():
        savepoint = open_savepoint(path)
    if as_json:
        print(json.dumps(actions.savepoint_as_dict(registry_of(), savepoint)))
        return
    console = output_console()
    manifest = savepoint.manifest
    ended = {"stop": ", stopped with this savepoint", "drain": ", drained with this savepoint"}.get(manifest.ended, "")
    console.print(Text(savepoint.path, style="bold"), soft_wrap=True)
    console.print(
        f"job {manifest.job_id} ('{manifest.job_name}'){ended}, batch {manifest.batch}, "
        f"{format_time(manifest.created / 1000)}, Penstock {manifest.penstock}, Spark {manifest.spark}",
        soft_wrap=True,
    )
    console.print(
        f"parallelism {manifest.parallelism} of {manifest.max_parallelism}, "
        f"{format_count(len(manifest.files), 'file', 'files')}, {format_size(savepoint.size)}"
        + (f", job started from {manifest.from_savepoint}" if manifest.from_savepoint else ""),
        soft_wrap=True,
    )
    console.print()
    console.print(_states(manifest))
    if manifest.sources:
        console.print()
        console.print(_sources(manifest))


def _states(manifest: Manifest) -> Table:
    """A table of the operators and their states, without empty columns."""
    watermarks = {uid: format_watermark(watermark) for uid, watermark in _watermarks(manifest).items()}
    has_ttl = any(state.ttl is not None for operator in manifest.operators for state in operator.states)
    has_watermarks = any(watermarks.values())
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("operator", "state"):
        table.add_column(heading, overflow="fold")
    table.add_column("kind", no_wrap=True, min_width=6)
    for heading in ("entries", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=7)
    if has_ttl:
        table.add_column("time to live", no_wrap=True)
    if has_watermarks:
        table.add_column("watermark", no_wrap=True)
    for operator in manifest.operators:
        for number, state in enumerate(operator.states or [None]):
            first = number == 0
            row = [operator.uid if first else ""]
            if state is None:
                row += ["", operator.kind, "", ""]
            else:
                row += [state.name, state.kind, f"{state.entries:,}", format_size(state.size)]
            if has_ttl:
                row.append("" if state is None or state.ttl is None else format_duration(state.ttl / 1000))
            if has_watermarks:
                row.append(watermarks.get(operator.uid, "") if first else "")
            table.add_row(*row)
    return table


def _watermarks(manifest: Manifest) -> dict[str, int]:
    metas = [msgspec.json.decode(level.clocks, type=SlotMetadata) for level in manifest.levels]
    return {uid: watermark for meta in metas for uid, watermark in meta.watermarks.items()}


def _sources(manifest: Manifest) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("source", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("position", overflow="fold")
    for source in manifest.sources:
        text = "not read yet" if source.position is None else json.dumps(source.position)
        table.add_row(source.uid, source.kind, text if len(text) <= 200 else f"{text[:200]}…")
    return table


def verify(path: Path_) -> None:
    """Read a complete savepoint and compare its checksums. The exit code is 1 if a file is damaged."""
    began = time.monotonic()
    with error_exit():
        savepoint = open_savepoint(path)
    damages = savepoint.verify()
    for damage in damages:
        print(f"penstock: [{damage.code}] {damage.text}", file=sys.stderr)
    if damages:
        raise typer.Exit(1)
    entries = sum(file.entries for file in savepoint.manifest.files)
    print(
        f"{savepoint.path} is intact: {entries:,} entries, {format_size(savepoint.size)}, {time.monotonic() - began:.1f} s"
    )


def delete_savepoint(path: Path_) -> None:
    """Delete a savepoint, unless a running job started from it."""
    with error_exit():
        savepoint = open_savepoint(path)
        actions.delete_savepoint(registry_of(), savepoint)
    print(f"{savepoint.path} deleted, {format_size(savepoint.size)}")


def prune_savepoints(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER]", help="The folder with savepoints. Default: the folder of the option."),
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=1, help="Keep the newest N savepoints of each job.")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", metavar="N", min=0, help="Remove savepoints that are older than N days.")
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--bytes", metavar="N", min=0, help="The maximum size of the savepoints of a job in bytes."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
) -> None:
    """Remove old savepoints by the given limits or by the retention options. A savepoint in use is never removed."""
    configuration = Configuration()
    retention = actions.configured_retention(configuration)
    if keep is not None or days is not None or size is not None:
        retention = Retention(keep, None if days is None else int(days * 86_400_000), size)
    with error_exit():
        directory = folder or configuration.get(SAVEPOINT_DIR)
        if not directory or retention.unbounded:
            raise CheckpointError(
                "NOTHING_TO_PRUNE",
                "A folder and a limit are needed. Pass the folder and --keep, --days or --bytes, or set "
                f"{SAVEPOINT_DIR.key} and the options of savepoint-retention.",
            )
        removed = actions.prune_savepoints(registry_of(), directory, retention, dry_run=dry_run)
    for savepoint, reason in removed:
        print(f"{savepoint.path} {'would be' if dry_run else 'was'} removed: {reason}")
    print(
        f"{format_count(len(removed), 'savepoint', 'savepoints')}, {format_size(sum(s.size for s, _ in removed))}",
        file=sys.stderr,
    )
