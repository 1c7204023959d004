"""Every transcript of time.md, on every engine."""

from __future__ import annotations

import pytest

from tests.transcripts.case import Case, cases
from tests.transcripts.engines import ENGINES

RUNS = [pytest.param(case, groups, id=f"{case.name} ({groups})") for case in cases() for groups in case.groups]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("case", "groups"), RUNS)
def test_the_transcript_comes_true(engine: str, case: Case, groups: int) -> None:
    outcome = ENGINES[engine].run(case, groups)
    assert case.comparable(outcome.outputs) == case.comparable(case.expected_outputs())
    assert outcome.watermark_words() == case.expected_watermarks()
    assert outcome.late_records == case.told.get("late_count", 0)
    if "next" in case.told:
        assert outcome.next_wake == case.told["next"]


def test_no_transcript_is_missing() -> None:
    numbers = {str(case.told["id"]).split()[0] for case in cases()}
    assert numbers >= {str(n) for n in range(1, 41)}
