"""`penstock savepoints list`, `show`, `verify`, `delete` and `prune`: savepoints as files."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.failure import told
from penstock.cli.words import counted, event_time, moment, size_of, span_of
from penstock.config import SAVEPOINT_DIR, Configuration
from penstock.engine.slot_meta import SlotMeta
from penstock.errors import CheckpointError
from penstock.jobs.registry import Registry, registry_of
from penstock.jobs.savepoint_use import delete, prune, retention_of, users_of
from penstock.jobs.savepoints import answers
from penstock.savepoints.catalogue import Retention, found_in
from penstock.savepoints.manifest import Manifest
from penstock.savepoints.savepoint import Savepoint, open_savepoint

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Folder = Annotated[
    str | None, typer.Argument(metavar="[FOLDER]", help="Where savepoints are; not given: all known ones.")
]
Path_ = Annotated[str, typer.Argument(metavar="PATH", help="A savepoint, as `penstock savepoint` printed it.")]


def list_savepoints(folder: Folder = None, as_json: Json = False) -> None:
    """List savepoints: those in a folder, or those that jobs of the registry took and that are still there."""
    registry = registry_of()
    with told():
        found = _known(registry) if folder is None else found_in(folder)
    if as_json:
        for savepoint in found:
            print(json.dumps(_described(registry, savepoint)))
        return
    console = Console(highlight=False)
    if not found:
        console.print("No savepoints.", style="dim")
        return
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("taken", no_wrap=True)
    table.add_column("job", no_wrap=True, overflow="ellipsis", min_width=4)
    for heading in ("batch", "size"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("path", overflow="fold")
    for savepoint in found:
        manifest = savepoint.manifest
        used = " (in use)" if users_of(registry, savepoint.path) else ""
        created, size = moment(manifest.created / 1000), size_of(savepoint.size)
        table.add_row(created, manifest.job_name, str(manifest.batch), size, savepoint.path + used)
    console.print(table)


def _known(registry: Registry) -> list[Savepoint]:
    paths = {a.path for e in registry.entries() for a in answers(registry, e.id) if a.status == "done"}
    found = dict.fromkeys(paths)
    opened = []
    for path in found:
        try:
            opened.append(open_savepoint(path))
        except (CheckpointError, OSError):  # removed since
            continue
    if directory := Configuration().get(SAVEPOINT_DIR):
        opened += [s for s in found_in(directory) if s.path not in paths]
    return sorted(opened, key=lambda s: s.manifest.created)


def _described(registry: Registry, savepoint: Savepoint) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(savepoint.manifest)
    )  # with what is kept as raw JSON
    used = [entry.id for entry in users_of(registry, savepoint.path)]
    return {"path": savepoint.path, "size": savepoint.size, "used_by": used, **facts}


def show(path: Path_, as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Show what is in a savepoint: operators and states, positions of sources, watermarks."""
    with told():
        savepoint = open_savepoint(path)
    if as_json:
        print(json.dumps(_described(registry_of(), savepoint)))
        return
    console = Console(highlight=False)
    manifest = savepoint.manifest
    ended = {"stop": ", which ended with it", "drain": ", which was drained and ended with it"}.get(manifest.ended, "")
    console.print(Text(savepoint.path, style="bold"), soft_wrap=True)
    console.print(
        f"job {manifest.job_id} ('{manifest.job_name}'){ended}, batch {manifest.batch}, "
        f"{moment(manifest.created / 1000)}, Penstock {manifest.penstock}, Spark {manifest.spark}",
        soft_wrap=True,
    )
    console.print(
        f"parallelism {manifest.parallelism} of {manifest.max_parallelism}, "
        f"{counted(len(manifest.files), 'file', 'files')}, {size_of(savepoint.size)}"
        + (f", job came from {manifest.from_savepoint}" if manifest.from_savepoint else ""),
        soft_wrap=True,
    )
    console.print()
    console.print(_states(manifest))
    if manifest.sources:
        console.print()
        console.print(_sources(manifest))


def _states(manifest: Manifest) -> Table:
    """Operators and their states; columns that say nothing are left out."""
    watermarks = {uid: event_time(watermark) for uid, watermark in _watermarks(manifest).items()}
    living = any(state.ttl is not None for operator in manifest.operators for state in operator.states)
    timed = any(watermarks.values())
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("operator", "state"):
        table.add_column(heading, overflow="fold")
    table.add_column("kind", no_wrap=True, min_width=6)
    for heading in ("entries", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=7)
    if living:
        table.add_column("time to live", no_wrap=True)
    if timed:
        table.add_column("watermark", no_wrap=True)
    for operator in manifest.operators:
        for number, state in enumerate(operator.states or [None]):
            first = number == 0
            row = [operator.uid if first else ""]
            if state is None:
                row += ["", operator.kind, "", ""]
            else:
                row += [state.name, state.kind, f"{state.entries:,}", size_of(state.size)]
            if living:
                row.append("" if state is None or state.ttl is None else span_of(state.ttl / 1000))
            if timed:
                row.append(watermarks.get(operator.uid, "") if first else "")
            table.add_row(*row)
    return table


def _watermarks(manifest: Manifest) -> dict[str, int]:
    metas = [msgspec.json.decode(level.clocks, type=SlotMeta) for level in manifest.levels]
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
    """Read all of a savepoint and compare its checksums; exit code 1 when something is damaged."""
    began = time.monotonic()
    with told():
        savepoint = open_savepoint(path)
    damages = savepoint.verify()
    for damage in damages:
        print(f"penstock: [{damage.code}] {damage.text}", file=sys.stderr)
    if damages:
        raise typer.Exit(1)
    entries = sum(file.entries for file in savepoint.manifest.files)
    print(
        f"{savepoint.path} is whole: {entries:,} entries, {size_of(savepoint.size)}, {time.monotonic() - began:.1f} s"
    )


def delete_savepoint(path: Path_) -> None:
    """Remove a savepoint; refuses one that a running job came from."""
    with told():
        savepoint = open_savepoint(path)
        delete(registry_of(), savepoint)
    print(f"{savepoint.path} removed, {size_of(savepoint.size)}")


def prune_savepoints(
    folder: Annotated[
        str | None, typer.Argument(metavar="[FOLDER]", help="Where; not given: the folder of the option.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=1, help="Keep the newest so many of each job.")
    ] = None,
    days: Annotated[float | None, typer.Option("--days", metavar="N", min=0, help="Remove what is older.")] = None,
    size: Annotated[
        int | None, typer.Option("--bytes", metavar="N", min=0, help="Most bytes of a job's savepoints.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove old savepoints: by the given limits, or by the options of retention. One in use stays."""
    configuration = Configuration()
    chosen = retention_of(configuration)
    if keep is not None or days is not None or size is not None:
        chosen = Retention(keep, None if days is None else int(days * 86_400_000), size)
    with told():
        directory = folder or configuration.get(SAVEPOINT_DIR)
        if not directory or chosen.unbounded:
            raise CheckpointError(
                "NOTHING_TO_PRUNE",
                "Give the folder of the savepoints and a limit: --keep, --days or --bytes; or set "
                f"{SAVEPOINT_DIR.key} and the options of savepoint-retention.",
            )
        gone = prune(registry_of(), directory, chosen, dry_run=dry_run)
    for savepoint, reason in gone:
        print(f"{savepoint.path} {'would be' if dry_run else 'was'} removed: {reason}")
    print(f"{counted(len(gone), 'savepoint', 'savepoints')}, {size_of(sum(s.size for s, _ in gone))}", file=sys.stderr)
