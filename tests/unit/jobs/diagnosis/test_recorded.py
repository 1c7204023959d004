"""What is said of the histories that real jobs left in the situations."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.jobs.diagnosis import diagnose
from tests.insight.recorded import HISTORIES, recorded
from tests.insight.situations import SITUATIONS, Situation

FILES = sorted(HISTORIES.glob("*.json"))
BY_NAME = {s.name.replace(" ", "-"): s for s in SITUATIONS}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_right_cause_is_named(file: Path) -> None:
    situation: Situation = BY_NAME[file.stem]
    history = recorded(file)
    said = diagnose(history.checkpoints, history.now)
    assert said.cause == situation.cause, said.findings
    if said.findings:
        assert situation.names in said.findings[0].title


def test_every_situation_has_a_history() -> None:
    assert {file.stem for file in FILES} == set(BY_NAME)
