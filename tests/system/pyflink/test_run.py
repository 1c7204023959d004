"""`penstock run --pyflink` with an engine that does not run jobs: imports, options, errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.jobs.actions.start import StartedProgram
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.registry import Registry
from tests.unit.cli.fake_engine import NAME

PROGRAM = """
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).print()
env.execute("job")
"""


def run(program: Path, text: str, *arguments: str) -> Result:
    program.write_text(text)
    return CliRunner().invoke(app, ["run", str(program), "-D", f"execution.engine={NAME}", *arguments])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "job.py"


def test_print_style_and_watermarks_are_those_of_flink_by_default(program: Path) -> None:
    done = run(program, PROGRAM, "--pyflink")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["options"] == {"print.style": "flink", "pipeline.watermark-emission": "per-batch"}
    other = run(program, PROGRAM, "--pyflink", "-D", "print.style=python")
    assert json.loads(other.stdout)["options"]["print.style"] == "python"


def test_import_hook_is_removed_after_the_run(program: Path) -> None:
    assert run(program, PROGRAM, "--pyflink").exit_code == 0
    assert not [name for name in sys.modules if name.split(".")[0] == "pyflink"]
    done = run(program, PROGRAM)
    assert done.exit_code == 1
    assert "No module named 'pyflink'" in done.stderr


def test_a_module_next_to_the_program_may_import_pyflink(program: Path) -> None:
    (program.parent / "beside_pyflink.py").write_text("from pyflink.common import Types\nNUMBER = Types.INT()\n")
    done = run(program, f"from beside_pyflink import NUMBER\n{PROGRAM}assert repr(NUMBER) == 'Integer'\n", "--pyflink")
    assert done.exit_code == 0, done.stderr


def test_a_missing_name_is_one_line(program: Path) -> None:
    text = "from pyflink.datastream.connectors.pulsar import PulsarSource\nPulsarSource.builder()"
    done = run(program, text, "--pyflink")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("penstock: [NOT_IN_PENSTOCK] pyflink.datastream.connectors.pulsar.PulsarSource is a")


def test_an_unused_import_does_not_stop_a_program(program: Path) -> None:
    text = "from pyflink.table import EnvironmentSettings, StreamTableEnvironment\nprint('runs')\n"
    assert run(program, text, "--pyflink").stdout == "runs\n"


def test_a_detached_program_gets_the_flag_too(program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    launches: list[Launch] = []
    log = tmp_path / "log"
    log.write_text("")

    def start_program(registry: Registry, launch: Launch) -> StartedProgram:
        launches.append(launch)
        return StartedProgram(launch.command({}, []), 1, str(log), job=None, exit_code=3)

    monkeypatch.setattr("penstock.cli.run.detached.start_program", start_program)
    assert run(program, PROGRAM, "--pyflink", "--detached").exit_code == 3
    assert launches[0].pyflink
    assert "--pyflink" in launches[0].command({}, [])
