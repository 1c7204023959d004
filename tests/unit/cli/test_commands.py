"""Commands that do not need a job."""

from __future__ import annotations

import json
import subprocess
import sys

from typer.testing import CliRunner

import penstock
from penstock import config
from penstock.cli.main import app


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"penstock {penstock.__version__}\n"


def test_python_m_penstock_is_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "penstock", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"penstock {penstock.__version__}\n"


def test_options_lists_all() -> None:
    shown = CliRunner().invoke(app, ["options"]).stdout
    for option in config.options():
        assert option.key in shown


def test_options_as_json() -> None:
    lines = CliRunner().invoke(app, ["options", "--json"]).stdout.splitlines()
    assert [json.loads(line)["key"] for line in lines] == [o.key for o in config.options()]
