"""Damaged files of earlier jobs do not stop a new job. A resumed job starts, or names the file that is damaged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from tests.damage import NEED_ROOT, WAYS, regular_files
from tests.other_user import OTHER_USER, OtherUser, make_reachable
from tests.system.leftovers import starts
from tests.system.leftovers.left_files import LeftFiles

pytestmark = [pytest.mark.spark, pytest.mark.slow]
STATES = ("running", "killed")
_SPARK_FILES = ("home/runs/spark-*/*/", "home/checkpoints/*/spark/state", "home/checkpoints/*/spark/offsets")


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that other users can enter. pytest closes its own folders to them whenever one of its processes starts."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-leftovers-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as created:
        yield created


@pytest.fixture(scope="module")
def left() -> Iterator[dict[str, LeftFiles]]:
    """The files of a finished and a running job, and the same after the running one was killed."""
    with shared_folder() as folder:
        files = LeftFiles(folder / "original")
        try:
            files.start()
            running = files.copy(folder / "running")
            files.kill()
            yield {"running": running, "killed": files}
        finally:
            files.kill()


def kind_of(file: Path) -> str:
    """The path without ids and numbers, so that each kind of file is damaged once."""
    text = re.sub(r"[0-9a-f]{8,}(-[0-9a-f]{4,}){0,4}", "ID", str(file))
    return re.sub(r"\d+", "N", re.sub(r"(spark|run|fork|rows|ship)-[a-z0-9_]{8}", r"\1-X", text))


def one_of_each_kind(folder: Path) -> dict[str, Path]:
    return {kind_of(file.relative_to(folder)): file.relative_to(folder) for file in regular_files(folder)}


class Cases:
    """Damages a copy of the files in each way and starts jobs on it."""

    def __init__(self, source: LeftFiles, folder: Path) -> None:
        self.copy, self.source = folder / "case", folder / "source"
        job = source.killed_job
        source.copy(self.source)
        for part in _SPARK_FILES:  # not read before Spark has started
            for path in self.source.glob(part):
                shutil.rmtree(path)
        if os.getuid() == 0:
            for path in (self.source, *self.source.rglob("*")):
                os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)
        self._checkpoint = self.copy / "home" / "checkpoints" / job.id
        self._copies = self.copy / "home" / "working-copies" / job.id
        self._output = self.copy / "output"

    def prepare(self, file: Path | None, way: str) -> Path | None:
        """Makes a new copy with one damaged file."""
        shutil.rmtree(self.copy, ignore_errors=True)
        subprocess.run(["cp", "-a", self.source, self.copy], check=True)
        if file is None:
            return None
        WAYS[way](self.copy / file)
        return self.copy / file

    def step(self, index: int) -> str:
        """Runs one kind of start. Returns the text of an error that names a file."""
        steps = (starts.start_new_job, starts.look_at_jobs, self._resume)
        with open(os.devnull, "w") as ignored, redirect_stderr(ignored):
            try:
                steps[index]()
            except PenstockError as error:
                return f"[{error.code}] {error.text}"
        return ""

    def _resume(self) -> None:
        starts.resume_job(self._checkpoint, self._copies, self._output)


@pytest.mark.parametrize(
    ("state", "number"),
    [("killed", 1), *(pytest.param(state, len(WAYS), marks=pytest.mark.long) for state in STATES)],
)
def test_each_damaged_file(
    state: str, number: int, left: dict[str, LeftFiles], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damages each kind of file in some ways: each way is used for some kinds, or for all of them."""
    cases = Cases(left[state], folder)
    monkeypatch.setenv("PENSTOCK_HOME", str(cases.copy / "home"))
    monkeypatch.setenv("PENSTOCK_CACHE", str(cases.copy / "cache"))
    temporary = folder / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    make_reachable(left["killed"].output)  # files of the checkpoint name it
    cases.prepare(None, "")
    for step in (0, 1, 2):  # without damage; imports what the other user may not be able to read
        assert cases.step(step) == ""
    root = os.getuid() == 0
    user = OtherUser(cases.step, folder) if root else None
    call = cases.step if user is None else user.call
    ways = [way for way in WAYS if root or way not in NEED_ROOT]
    files = one_of_each_kind(cases.source)
    stopped, named = [], []
    found = {kind: file for kind, file in files.items() if file.parts[0] in ("home", "cache")}
    tried = 0
    for position, (kind, file) in enumerate(found.items()):
        for way in {ways[(position * number + n) % len(ways)]: None for n in range(number)}:
            tried += 1
            path = cases.prepare(file, way)
            for step, name in enumerate(("new job", "commands", "resumed job")):
                result = call(step)
                if result and step == 2 and re.match(r"\[[A-Z_]+\]", result) and str(path) in result:
                    named.append(f"{kind}, {way}")
                elif result:
                    stopped.append(f"{kind}, {way}, {name}: {result[-600:]}")
    if user is not None:
        user.close()
    kinds, total = len(files), len(regular_files(left[state].folder))
    print(f"\n{state} job: {kinds} kinds of {total} files, {len(ways)} ways, {tried} combinations")
    print(f"a resumed job names the damaged file: {len(named)} times: {named}")
    assert not stopped, f"{len(stopped)} of {tried}:\n" + "\n".join(stopped)


def damage_all(files: LeftFiles, ways: list[str]) -> int:
    """Damages all files of all jobs, each in the next of the ways. Returns their number."""
    found = [*regular_files(files.home), *regular_files(files.cache)]
    for number, file in enumerate(found):
        WAYS[ways[number % len(ways)]](file)
    return len(found)


@pytest.mark.parametrize("way", ["all ways", *(pytest.param(way, marks=pytest.mark.long) for way in WAYS)])
def test_a_job_runs_on_spark_although_all_files_are_damaged(way: str, left: dict[str, LeftFiles], folder: Path) -> None:
    """Root can read unreadable files; the test above starts jobs as another user."""
    files = left["killed"].copy(folder / "copy")
    chosen = [w for w in WAYS if os.getuid() == 0 or w not in NEED_ROOT] if way == "all ways" else [way]
    if not set(chosen) - NEED_ROOT and os.getuid() != 0:
        pytest.skip("only root can give files away")
    number = damage_all(files, chosen)
    ended = files.run()
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "ENDED" in ended.stdout
    print(f"\n{number} files damaged ({', '.join(chosen)}): a new job ran to its end")
