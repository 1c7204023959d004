"""Runs versions of a job from one savepoint over the same input and compares their outputs; replays a job into its sinks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import msgspec

from penstock.atomic_file import write_atomic
from penstock.config.execution_options import ENGINE, FORK_PLAN, FORK_RUN
from penstock.errors import JobError, StateError
from penstock.folders import private_folder, remove_private_folder
from penstock.jobs.registry.launch import Launch
from penstock.savepoints import open_savepoint
from penstock.whatif.chart import comparison_chart
from penstock.whatif.comparison import Difference, compare_outputs
from penstock.whatif.plan import RUN_FILE, ForkPlan, ForkRun

_ENGINE = "penstock.whatif.engine:ForkEngine"
_PLAN_FILE = "plan.json"
_STOP_SECONDS = 60.0  # for a run that is interrupted


class Comparison(msgspec.Struct):
    """The outputs of several versions of a job. Each version is compared with the first one."""

    programs: dict[str, str]  # name of the version to its file
    runs: dict[str, ForkRun]
    differences: list[Difference]

    @property
    def first(self) -> str:
        """The name of the version that the others are compared with."""
        return next(iter(self.programs))

    def as_dict(self) -> dict[str, Any]:
        """The comparison as `penstock fork --json` prints it."""
        redirected = {name: run.redirected for name, run in self.runs.items()}
        return {"versions": self.programs, "redirected": redirected, "differences": self.differences}


def fork_job(
    plan: ForkPlan,
    programs: list[Path],
    *,
    args: Sequence[str] = (),
    key: str | None = None,
    options: dict[str, Any] | None = None,
    output: TextIO | None = None,
    on_start: Callable[[Path], None] = lambda program: None,
) -> Comparison:
    """Runs each program as the plan says and compares what they write to their sinks.

    `args` are the arguments of all programs. `key` names the field that identifies a row. The programs write their own output to
    `output`. Results are written to `comparison.json` and `comparison.svg` in the folder of the plan. After a failure the folder is
    empty again.
    """
    folder = Path(plan.folder)
    if folder.exists() and any(folder.iterdir()):
        raise StateError("FORK_FOLDER", f"The folder {folder} is not empty. Choose another folder with --out.")
    open_savepoint(plan.savepoint)
    with _emptied_on_failure(folder):
        plan.write(folder / _PLAN_FILE)
        versions = version_names(programs)
        runs = {}
        for name, program in versions.items():
            on_start(program)
            runs[name] = _run_version(program, args, name, folder, options or {}, output)
        comparison = Comparison({name: str(path) for name, path in versions.items()}, runs, [])
        comparison.differences = _compare(comparison, folder, key)
        encoded = msgspec.json.format(msgspec.json.encode(comparison.differences), indent=1)
        write_atomic(folder / "comparison.json", encoded, durable=False)
        chart = comparison_chart(comparison.differences, comparison.first)
        write_atomic(folder / "comparison.svg", chart.encode(), durable=False)
    return comparison


@contextmanager
def _emptied_on_failure(folder: Path) -> Iterator[None]:
    """Creates a folder. If the block raises, removes what the block wrote, and the folder if it did not exist before."""
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for entry in folder.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
        if not existed:
            folder.rmdir()
        raise


def replay_job(
    savepoint: str,
    program: Path,
    *,
    args: Sequence[str] = (),
    append: bool = False,
    drain: bool = False,
    allow_dropped: bool = False,
    options: dict[str, Any] | None = None,
    output: TextIO | None = None,
) -> ForkRun:
    """Runs a program from a savepoint up to now with its real sinks.

    A sink that only appends is refused unless `append` is set, because it would contain every record twice.
    """
    open_savepoint(savepoint)
    with ExitStack() as stack:
        folder = private_folder("replay")
        stack.callback(remove_private_folder, folder)
        plan = ForkPlan(savepoint, str(folder), redirect=False, drain=drain, append=append, allow_dropped=allow_dropped)
        plan.write(folder / _PLAN_FILE)
        return _run_version(program, args, "replay", folder, options or {}, output)


def version_names(programs: list[Path]) -> dict[str, Path]:
    """A name for each version: the name of its file, with a number if there are several of the same name.

    >>> list(version_names([Path("a/job.py"), Path("b/job.py"), Path("new.py")]))
    ['job', 'job-2', 'new']
    """
    names: dict[str, Path] = {}
    for program in programs:
        name, number = program.stem, 1
        while name in names:
            number += 1
            name = f"{program.stem}-{number}"
        names[name] = program
    return names


def _run_version(
    program: Path, args: Sequence[str], name: str, folder: Path, options: dict[str, Any], output: TextIO | None
) -> ForkRun:
    """Runs a version in its own process, because versions may import different modules of the same name."""
    fork_options = {ENGINE.key: _ENGINE, FORK_PLAN.key: str(folder / _PLAN_FILE), FORK_RUN.key: name}
    command = Launch(str(program), list(args), "", fork_options).command(options, [])
    code = _wait(subprocess.Popen(command, stdout=output))
    run_file = folder / name / RUN_FILE
    if code or not run_file.exists():
        reason = f"ended with exit code {code}" if code else "ran no job"
        raise JobError("FORK_RUN_FAILED", f"{program} {reason}. Its output is above. Nothing was compared.")
    return msgspec.json.decode(run_file.read_bytes(), type=ForkRun)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Waits for a process. After Ctrl-C, which it receives too, it may stop its job first, so that nothing is left behind."""
    try:
        return process.wait()
    except BaseException:
        try:
            process.wait(_STOP_SECONDS)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
        raise


def _compare(comparison: Comparison, folder: Path, key: str | None) -> list[Difference]:
    first, *others = comparison.programs
    sinks = dict.fromkeys(sink.uid for run in comparison.runs.values() for sink in run.redirected)
    differences = []
    for sink in sinks:
        folders = {name: _output_folder(run, sink, folder) for name, run in comparison.runs.items()}
        differences += [compare_outputs(sink, other, folders[first], folders[other], key) for other in others]
    return differences


def _output_folder(run: ForkRun, sink: str, folder: Path) -> Path:
    """The folder with the output of a sink; for a version without this sink, a folder that does not exist."""
    return next((Path(s.folder) for s in run.redirected if s.uid == sink), folder / "nothing")
