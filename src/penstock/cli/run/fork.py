"""`penstock fork`: several versions of a job from one savepoint, over the same input, and how their outputs differ."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.failure import told
from penstock.config import ENGINE, FORK_PLAN, FORK_RUN
from penstock.connectors.file.system import absolute
from penstock.errors import JobError, StateError
from penstock.jobs.whole_file import write_whole
from penstock.savepoints import open_savepoint
from penstock.whatif.comparison import Difference, compared
from penstock.whatif.picture import picture
from penstock.whatif.plan import ForkPlan, RunFacts

_ENGINE = "penstock.whatif.engine:ForkEngine"
_PLAN = "plan.json"
SavepointPath = Annotated[str, typer.Argument(metavar="SAVEPOINT", help="The path of a savepoint.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="Set an option of the runs; 'penstock options' lists them."),
]
Dropped = Annotated[
    bool, typer.Option("--allow-dropped-state", help="A version may lack operators that the savepoint has state of.")
]
Drain = Annotated[
    bool, typer.Option("--drain", help="Fire all timers and windows at the end, as if nothing more would come.")
]


def fork(
    savepoint: SavepointPath,
    jobs: Annotated[list[Path], typer.Argument(metavar="A.PY B.PY ...", help="Versions of the job.", exists=True)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where outputs and results go; must not be there.")] = Path(
        "fork"
    ),
    until: Annotated[
        str | None, typer.Option(metavar="SAVEPOINT", help="Read up to a later savepoint's positions; else up to now.")
    ] = None,
    records: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Read at most so many records of a source that counts them.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="The field that tells rows apart: its name, or its number in a list."),
    ] = None,
    drain: Drain = False,
    allow_dropped_state: Dropped = False,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Run versions of a job from one savepoint over the same input, and compare what they write.

    All sinks are redirected to files: nothing is written outside of the folder, unless functions do it themselves.
    """
    with told():
        folder = Path(absolute(str(out)))
        if folder.exists() and any(folder.iterdir()):
            raise StateError("FORK_FOLDER", f"{folder} is there and not empty. Give --out another folder.")
        open_savepoint(savepoint)
        folder.mkdir(parents=True, exist_ok=True)
        plan = ForkPlan(
            absolute(savepoint),
            str(folder),
            drain=drain,
            records=records,
            allow_dropped=allow_dropped_state,
            until="" if until is None else absolute(until),
        )
        plan.write(folder / _PLAN)
        names = names_of(jobs)
        facts = {name: ran(job, name, folder, settings or []) for name, job in names.items()}
        differences = _compared(names, facts, folder, key)
        write_whole(folder / "comparison.json", msgspec.json.format(msgspec.json.encode(differences), indent=1))
        write_whole(folder / "comparison.svg", picture(differences, next(iter(names))).encode())
        if as_json:
            print(msgspec.json.encode(_for_programs(names, facts, differences)).decode())
        else:
            _show(names, facts, differences, folder)


def names_of(jobs: list[Path]) -> dict[str, Path]:
    """A name for each version: its file's, with a number where two have one.

    >>> list(names_of([Path("a/job.py"), Path("b/job.py"), Path("new.py")]))
    ['job', 'job-2', 'new']
    """
    found: dict[str, Path] = {}
    for job in jobs:
        stem, number = job.stem, 1
        while stem in found:
            number += 1
            stem = f"{job.stem}-{number}"
        found[stem] = job
    return found


def ran(job: Path, name: str, folder: Path, settings: list[str]) -> RunFacts:
    """Runs a version in a process of its own: versions may have modules of the same names."""
    options = [f"{ENGINE.key}={_ENGINE}", f"{FORK_PLAN.key}={folder / _PLAN}", f"{FORK_RUN.key}={name}", *settings]
    command = [sys.executable, "-m", "penstock", "run", str(job), *(part for o in options for part in ("-D", o))]
    print(f"penstock: running {job}", file=sys.stderr)
    ended = subprocess.run(command, check=False, env=os.environ, stdout=sys.stderr)
    facts = folder / name / "run.json"
    if ended.returncode or not facts.exists():
        why = f"ended with code {ended.returncode}" if ended.returncode else "ran no job"
        raise JobError("FORK_RUN_FAILED", f"{job} {why}; its output is above. Nothing was compared.")
    return msgspec.json.decode(facts.read_bytes(), type=RunFacts)


def _compared(names: dict[str, Path], facts: dict[str, RunFacts], folder: Path, key: str | None) -> list[Difference]:
    first, *others = names
    sinks = list(dict.fromkeys(r.uid for f in facts.values() for r in f.redirected))
    found = []
    for sink in sinks:
        folders = {name: _folder(facts[name], sink, folder) for name in names}
        found += [compared(sink, other, folders[first], folders[other], key) for other in others]
    return found


def _folder(facts: RunFacts, sink: str, folder: Path) -> Path:
    """Where a version's elements of a sink are; a folder that is not there for a version without the sink."""
    return next((Path(r.folder) for r in facts.redirected if r.uid == sink), folder / "nothing")


def _for_programs(names: dict[str, Path], facts: dict[str, RunFacts], differences: list[Difference]) -> dict[str, Any]:
    redirected = {name: f.redirected for name, f in facts.items()}
    return {"versions": {n: str(p) for n, p in names.items()}, "redirected": redirected, "differences": differences}


def _show(names: dict[str, Path], facts: dict[str, RunFacts], differences: list[Difference], folder: Path) -> None:
    console = Console(highlight=False)
    first = next(iter(names))
    for sink in dict.fromkeys((r.uid, r.kind) for f in facts.values() for r in f.redirected):
        console.print(Text(f"sink '{sink[0]}' ({sink[1]}) was redirected to files", style="dim"), soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("sink", "version"):
        table.add_column(heading, overflow="fold")
    keyed = any(d.keys_differ is not None for d in differences)
    for heading in ("rows", "same", f"only {first}", "only here", *(["keys differ"] if keyed else [])):
        table.add_column(heading, justify="right")
    for d in differences:
        keys = [f"{d.keys_differ:,}" if d.keys_differ is not None else ""] if keyed else []
        style = "green" if d.equal else "yellow"
        figures = (f"{d.rows:,}", f"{d.same:,}", f"{d.only_in_first:,}", f"{d.only_here:,}", *keys)
        table.add_row(d.sink, d.version, *figures, style=style)
    console.print(table)
    for d in differences:
        for name, example in ((first, d.examples_of_first[:2]), (d.version, d.examples_here[:2])):
            for row in example:
                console.print(Text(f"{d.sink}: only {name}: {row}", style="dim"), soft_wrap=True)
    console.print(Text(f"all of it: {folder}/comparison.json, comparison.svg", style="dim"), soft_wrap=True)
