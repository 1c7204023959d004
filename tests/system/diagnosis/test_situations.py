"""Runs the situations on a real Spark. The expected cause must be found in each."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.locations import ROOT
from tests.system.diagnosis.situations import SITUATIONS, Situation

pytestmark = [pytest.mark.long, pytest.mark.spark]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_the_expected_cause_is_found(situation: Situation) -> None:
    command = [sys.executable, "-m", "tests.system.diagnosis.run", situation.name]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr[-3000:]
