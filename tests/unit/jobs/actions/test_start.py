"""Programs that are started in the background."""

from __future__ import annotations

from pathlib import Path

from penstock.jobs.actions.start import start_program
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.registry import Registry

RUNS_A_JOB = """
import pathlib, time
from penstock.jobs.registry.registry import registry_of
from tests.unit.jobs.jobs import entry
registry_of().write(entry("job1", status="running"))
while not pathlib.Path("end").exists():
    time.sleep(0.05)
"""


def test_a_program_that_ends_without_a_job(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import sys; print('hello', sys.argv[1:]); sys.exit(3)")
    started = start_program(Registry(tmp_path / "home"), Launch(str(script), ["--fast"], str(tmp_path)))
    assert (started.job, started.exit_code) == (None, 3)
    assert Path(started.log).parent == tmp_path / "home" / "logs"
    assert "hello ['--fast']" in Path(started.log).read_text()


def test_returns_when_the_first_job_runs(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(Path(__file__).parents[4])!r})\n{RUNS_A_JOB}")
    options = {"jobs.registry.dir": str(tmp_path / "home")}
    try:
        started = start_program(Registry(tmp_path / "home"), Launch(str(script), [], str(tmp_path)), options)
        assert started.job is not None
        assert (started.job.id, started.job.process.pid, started.exit_code) == ("job1", started.pid, None)
    finally:
        (tmp_path / "end").touch()
