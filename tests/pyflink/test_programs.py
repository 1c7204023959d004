"""Programs written for PyFlink print on Spark what they print on Flink 2.3, up to order.

The programs use the calls of PyFlink's own examples on the same input. `expected` holds what Flink printed, without the number
of the subtask before `>`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HERE = Path(__file__).parent


def run(program: str, *arguments: str) -> list[str]:
    command = ["run", "--pyflink", "--master", "local[2]", str(HERE / "programs" / program), "--", *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stderr
    return sorted(done.stdout.splitlines())


def expected(name: str) -> list[str]:
    return sorted((HERE / "expected" / f"{name}.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("program", ["people", "json_data", "balance", "balance_later"])
def test_prints_what_flink_prints(program: str) -> None:
    assert run(f"{program}.py") == expected(program)
