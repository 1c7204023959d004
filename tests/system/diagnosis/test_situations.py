"""The situations, played for real on a Spark of their own: the right cause is named in each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.insight.situations import SITUATIONS, Situation

pytestmark = [pytest.mark.long, pytest.mark.spark]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_the_right_cause_is_named(situation: Situation) -> None:
    command = [sys.executable, "-m", "tests.insight.run", situation.name]
    played = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=400, check=False
    )
    assert played.returncode == 0, played.stdout + played.stderr[-3000:]
