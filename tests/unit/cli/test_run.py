"""`penstock run`: options, arguments and errors, with an engine that runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.config import OPTIONS_VARIABLE
from tests.unit.cli.fake_engine import NAME

PROGRAM = """
import penstock as ps
env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).print()
env.execute("job")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(PROGRAM)
    return path


def run(program: Path, *arguments: str, text: str | None = None, engine: str = NAME) -> Result:
    if text is not None:
        program.write_text(text)
    return CliRunner().invoke(app, ["run", str(program), "-D", f"execution.engine={engine}", *arguments])


def job_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


def test_options_are_the_defaults_of_every_environment(program: Path, tmp_path: Path) -> None:
    facts = job_of(run(program, "--master", "local[2]", "--resume", str(tmp_path), "-D", "source.batch.records=7"))
    assert facts["options"] == {
        "spark.master": "local[2]",
        "execution.resume": str(tmp_path),
        "source.batch.records": "7",
    }


def test_spark_settings_are_passed_to_spark(program: Path) -> None:
    assert job_of(run(program, "-D", "spark.executor.memory=2g"))["spark"] == {"spark.executor.memory": "2g"}


def test_options_of_the_program_override_those_of_the_command(program: Path) -> None:
    text = PROGRAM.replace(
        "get_execution_environment()", "get_execution_environment(ps.Configuration({'source.batch.records': 3}))"
    )
    assert job_of(run(program, "-D", "source.batch.records=7", text=text))["options"] == {"source.batch.records": "3"}


def test_options_of_the_command_override_those_of_the_environment_variable(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTIONS_VARIABLE, '{"source.batch.records": 1, "execution.heartbeat": 5}')
    facts = job_of(run(program, "-D", "source.batch.records=7"))
    assert facts["options"] == {"source.batch.records": "7", "execution.heartbeat": "5 ms"}
    assert os.environ[OPTIONS_VARIABLE] == '{"source.batch.records": 1, "execution.heartbeat": 5}'


def test_arguments_reach_the_program(program: Path) -> None:
    assert job_of(run(program, "in.txt", "--", "--fast", "-x"))["argv"] == [str(program), "in.txt", "--fast", "-x"]


def test_the_program_is_main_and_imports_modules_of_its_folder(program: Path, tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("WORD = 'beside'")
    before = list(sys.path), sys.argv
    result = run(program, text="import beside_it; print(__name__, beside_it.WORD)")
    sys.modules.pop("beside_it")
    assert result.stdout == "__main__ beside\n"
    assert (list(sys.path), sys.argv) == before


def test_an_error_of_penstock_is_one_line(program: Path) -> None:
    result = run(program, text=PROGRAM.replace(".print()", ""))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "penstock: [NO_SINK] No operators defined in streaming topology: job 'job' has no sink. "
        "Add sink_to() or print() to a stream."
    ]


def test_verbose_shows_the_stack(program: Path) -> None:
    result = run(program, "--verbose", text=PROGRAM.replace(".print()", ""))
    assert "Traceback" in result.stderr
    assert "penstock: [NO_SINK]" in result.stderr


def test_the_stack_trace_of_spark_is_not_shown(program: Path) -> None:
    result = run(program, text=PROGRAM.replace('execute("job")', 'execute("fails")'))
    assert result.stderr.splitlines() == ["penstock: [JOB_FAILED] The job failed in Spark: no luck."]


def test_log_records_are_json_too(program: Path) -> None:
    """Runs in another process, because pytest configures logging, and then the command does not."""
    program.write_text("import logging; logging.getLogger('mine').warning('mind %s', 'this')")
    command = [sys.executable, "-m", "penstock", "run", str(program), "--json"]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=120).stderr.splitlines()
    assert json.loads(lines[0]) == {"event": "log", "level": "WARNING", "logger": "mine", "text": "mind this"}


def test_errors_as_json(program: Path) -> None:
    result = run(program, "--json", text=PROGRAM.replace('execute("job")', 'execute("fails")'))
    failed = json.loads(result.stderr)
    assert (failed["event"], failed["code"]) == ("failed", "JOB_FAILED")
    assert failed["message"] == "The job failed in Spark: no luck."


def test_an_error_of_the_program_shows_its_stack_trace(program: Path) -> None:
    result = run(program, text="def f():\n    return 1 / 0\nf()\n")
    assert result.exit_code == 1
    assert "ZeroDivisionError: division by zero" in result.stderr
    assert f'File "{program}", line 2, in f' in result.stderr
    assert "runpy" not in result.stderr
    assert "penstock/cli" not in result.stderr


def test_the_exit_code_of_the_program_is_returned(program: Path) -> None:
    assert run(program, text="raise SystemExit(3)").exit_code == 3


def test_a_spark_master_for_a_job_without_spark_is_refused(program: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--local", "--master", "local[2]", str(program)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Omit one of them" in result.stderr


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "source.batch.recrods=1",
            "[UNKNOWN_OPTION] There is no option 'source.batch.recrods'. Did you mean 'source.batch.records'?",
        ),
        ("source.batch.records=many", "[OPTION_VALUE] Option 'source.batch.records' is 'many'"),
        ("source.batch.records", "[OPTION_FORM] -D got 'source.batch.records'; it takes key=value."),
    ],
)
def test_a_wrong_option_is_refused_before_the_program_runs(program: Path, setting: str, message: str) -> None:
    result = run(program, "-D", setting)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"penstock: {message}")


def test_java_missing_is_one_line_before_spark_starts(program: Path) -> None:
    # Runs in another process, because earlier tests may have started Spark in this one.
    run_it = [sys.executable, "-m", "penstock", "run", str(program)]
    result = subprocess.run(
        run_it, env={**os.environ, "JAVA_HOME": "/nowhere"}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "penstock: [JAVA] Penstock needs Java 17 or newer ('/nowhere/bin/java' was not found). Install a JDK, for example "
        "'apt-get install openjdk-17-jre-headless' or 'brew install openjdk@17', or set JAVA_HOME to one."
    ]
