"""The diagnosis of recorded histories of real jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.jobs.diagnosis import diagnose
from tests.system.diagnosis.situations import SITUATIONS, Situation
from tests.unit.jobs.diagnosis.recorded import HISTORIES, read_recorded

FILES = sorted(HISTORIES.glob("*.json"))
BY_NAME = {s.name.replace(" ", "-"): s for s in SITUATIONS}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_expected_cause_is_found(file: Path) -> None:
    situation: Situation = BY_NAME[file.stem]
    history = read_recorded(file)
    diagnosis = diagnose(history.checkpoints, history.now)
    assert diagnosis.cause == situation.cause, diagnosis.findings
    if diagnosis.findings:
        assert situation.title in diagnosis.findings[0].title


def test_every_situation_has_a_recorded_history() -> None:
    assert {file.stem for file in FILES} == set(BY_NAME)
