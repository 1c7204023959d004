"""Runs every transcript of the time rules on every engine."""

from __future__ import annotations

import pytest

from tests.system.transcripts.case import Case, cases
from tests.system.transcripts.engines import ENGINES

RUNS = [pytest.param(case, groups, id=f"{case.name} ({groups})") for case in cases() for groups in case.groups]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("case", "groups"), RUNS)
def test_transcript(engine: str, case: Case, groups: int) -> None:
    outcome = ENGINES[engine].run(case, groups)
    assert case.comparable(outcome.outputs) == case.comparable(case.expected_outputs())
    assert outcome.watermark_words() == case.expected_watermarks()
    assert outcome.late_records == case.fields.get("late_count", 0)
    if "next" in case.fields:
        assert outcome.next_wake == case.fields["next"]


def test_all_transcripts_exist() -> None:
    numbers = {str(case.fields["id"]).split()[0] for case in cases()}
    assert numbers >= {str(n) for n in range(1, 41)}
