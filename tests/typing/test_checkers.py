"""mypy (strict) and pyright agree with the types in `fluent_api.py` and the other files of this folder.

Pyright comes as basedpyright: the same checker in a package that brings its own Node.js, so that it runs without a
network. It runs in pyright's standard mode.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock as ps
from tests.typing import aggregates, fluent_api, joins, windows

ROOT = Path(__file__).parent.parent.parent
_FILES = ("fluent_api", "joins", "windows", "aggregates", "formats", "state_processor")
CHECKED = tuple(f"tests/typing/{name}.py" for name in _FILES)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_mypy_agrees() -> None:
    done = run(sys.executable, "-m", "mypy", *CHECKED)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_agrees(tmp_path: Path) -> None:
    settings = {
        "include": [str(ROOT / file) for file in CHECKED],
        "extraPaths": [str(ROOT / "src"), str(ROOT)],
        "typeCheckingMode": "standard",
        "enableTypeIgnoreComments": True,
        "reportUnnecessaryTypeIgnoreComment": "error",
        "pythonVersion": "3.11",
    }
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(settings))
    python = sys.executable
    done = run(python, "-m", "basedpyright", "--project", str(project), "--pythonpath", python, "--outputjson")
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(CHECKED)
    found = [f"{d['file']}:{d['range']['start']['line'] + 1}: {d['message']}" for d in report["generalDiagnostics"]]
    assert found == []


@pytest.mark.parametrize(
    "build",
    [
        fluent_api.streams,
        fluent_api.keys,
        fluent_api.two_streams,
        joins.joins,
        joins.intervals,
        windows.results,
        aggregates.aggregates,
    ],
)
def test_the_checked_programs_can_also_be_built(build: Callable[[ps.StreamExecutionEnvironment], None]) -> None:
    env = ps.StreamExecutionEnvironment()
    build(env)
    assert len(env._nodes) >= 5
