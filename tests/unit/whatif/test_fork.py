"""The fork and replay actions, with programs that write the results of a run themselves instead of running on Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import JobError, StateError
from penstock.state_processor import SavepointWriter
from penstock.whatif.fork import fork_job, replay_job
from penstock.whatif.plan import ForkPlan

PROGRAM = """
import json, os, pathlib
options = json.loads(os.environ["PENSTOCK_OPTIONS"])
assert options["execution.engine"] == "penstock.whatif.engine:ForkEngine"
plan = json.loads(pathlib.Path(options["execution.fork.plan"]).read_text())
folder = pathlib.Path(plan["folder"], options["execution.fork.run"])
sink = folder / "sinks" / "out"
sink.mkdir(parents=True)
(sink / "part-0.jsonl").write_text("".join(f"{row}\\n" for row in ROWS))
redirected = [{"uid": "out", "name": "out", "kind": "PrintSink", "folder": str(sink)}]
run = {"redirected": redirected, "job_id": "redirected" if plan.get("redirect", True) else "replayed"}
(folder / "run.json").write_text(json.dumps(run))
print("ran with", options.get("parallelism.default"))
"""


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    return SavepointWriter.new_savepoint(8).write(str(tmp_path / "savepoint")).path


def write_program(path: Path, *rows: int) -> Path:
    path.write_text(f"ROWS = {list(rows)}\n{PROGRAM}")
    return path


def test_each_version_is_compared_with_the_first(savepoint: str, tmp_path: Path) -> None:
    programs = [write_program(tmp_path / "old.py", 1, 2, 3), write_program(tmp_path / "new.py", 2, 3, 4)]
    started: list[Path] = []
    plan = ForkPlan(savepoint, str(tmp_path / "fork"))
    with open(tmp_path / "output", "w+") as output:
        options = {"parallelism.default": 2}
        comparison = fork_job(plan, programs, options=options, output=output, on_start=started.append)
    assert started == programs
    assert (tmp_path / "output").read_text() == "ran with 2\n" * 2
    (difference,) = comparison.differences
    assert (difference.sink, difference.version, difference.same) == ("out", "new", 2)
    assert (difference.only_here, difference.only_in_first) == (1, 1)
    assert comparison.as_dict()["versions"] == {"old": str(programs[0]), "new": str(programs[1])}
    assert json.loads((tmp_path / "fork" / "comparison.json").read_text())[0]["same"] == 2
    assert (tmp_path / "fork" / "comparison.svg").read_text().startswith("<svg")


def test_a_folder_that_is_not_empty_is_refused(savepoint: str, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="FORK_FOLDER"):
        fork_job(ForkPlan(savepoint, savepoint), [tmp_path / "job.py"])


@pytest.mark.parametrize(
    ("text", "reason", "exists"),
    [("raise SystemExit(3)", "ended with exit code 3", False), ("pass", "ran no job", True)],
)
def test_a_version_that_fails_is_an_error(savepoint: str, tmp_path: Path, text: str, reason: str, exists: bool) -> None:
    program, folder = tmp_path / "job.py", tmp_path / "fork"
    program.write_text(text)
    if exists:
        folder.mkdir()
    with pytest.raises(JobError, match=f"FORK_RUN_FAILED.*{reason}"):
        fork_job(ForkPlan(savepoint, str(folder)), [write_program(tmp_path / "good.py", 1), program])
    assert folder.exists() == exists
    assert list(folder.glob("*")) == []  # so that the command can be repeated


def test_arguments_reach_all_versions(savepoint: str, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(f"import sys\nROWS = list(map(len, sys.argv[1:]))\n{PROGRAM}")
    comparison = fork_job(ForkPlan(savepoint, str(tmp_path / "fork")), [program, program], args=["--fast", "-x"])
    assert [(d.same, d.equal) for d in comparison.differences] == [(2, True)]
    assert (tmp_path / "fork" / "job" / "sinks" / "out" / "part-0.jsonl").read_text() == "6\n2\n"
    assert replay_job(savepoint, program, args=["a"]).job_id == "replayed"


def test_a_replay_does_not_redirect_sinks(savepoint: str, tmp_path: Path) -> None:
    run = replay_job(savepoint, write_program(tmp_path / "job.py", 1))
    assert run.job_id == "replayed"
