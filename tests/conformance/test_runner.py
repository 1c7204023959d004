"""Tests of the conformance runner itself."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import test_conformance
from tests.conformance.case import OWN_CASES, Case, NotRunnableError, cases_in
from tests.conformance.drivers import driver_of
from tests.conformance.engines import in_harness

TIMER = "event_timer_fires_when_the_watermark_reaches_it"
SIDE = "side_outputs_keep_the_timestamp"
LATE = "sliding_late_for_some_windows_only"


def own(case_name: str, /, **changes: Any) -> Case:
    (case,) = [c for c in cases_in(OWN_CASES) if c.fields["name"] == case_name]
    return Case(case.area, {**copy.deepcopy(case.fields), **changes})


def run(case: Case, tmp_path: Path) -> None:
    driver = driver_of(case)
    driver.check(case, in_harness(driver.job(case), tmp_path))


def _changed(name: str, at: int, **fields: Any) -> Case:
    case = own(name)
    case.fields["expected"][at].update(fields)
    return case


@pytest.mark.parametrize(
    "case",
    [
        _changed(TIMER, 3, value="fired 111"),
        _changed(TIMER, 3, ts=109),
        _changed(TIMER, 3, after_inputs=3),
        _changed(TIMER, 2, watermark=108),
        own(TIMER, expected=own(TIMER).expected[:-1]),
        own(TIMER, expected=[*own(TIMER).expected, {"value": 1}]),
        own(TIMER, expected=[own(TIMER).expected[n] for n in (0, 1, 3, 2, 4)]),
        own(SIDE, expected_side_output={"odd-out": [{"value": 9, "ts": 71}], "text": own(SIDE).side_outputs["text"]}),
        own(SIDE, expected_side_output={"odd-out": [], "text": own(SIDE).side_outputs["text"]}),
        own("value_lives_from_its_last_write", expected=["a", "b", "b"]),
        own("each_element_of_a_list_has_its_own_life", expected=[[1, 2, 3], [3], [3], [9]]),
    ],
    ids=str,
)
def test_a_wrong_expectation_fails(case: Case, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run(case, tmp_path)


@pytest.mark.parametrize("case_name", [LATE, SIDE])
def test_side_outputs_may_be_lists_of_plain_values(case_name: str, tmp_path: Path) -> None:
    case = own(case_name)
    plain = {tag: [e["value"] for e in entries] for tag, entries in case.side_outputs.items()}
    expected: Any = plain["late"] if case_name == LATE else plain
    run(own(case_name, expected_side_output=expected), tmp_path)
    wrong: Any = [*plain["late"], ["no", "such", "element"]] if case_name == LATE else {**plain, "text": [9]}
    with pytest.raises(AssertionError):
        run(own(case_name, expected_side_output=wrong), tmp_path)


def test_order_is_checked_as_the_case_specifies(tmp_path: Path) -> None:
    swapped = [own(TIMER).expected[n] for n in (0, 1, 3, 2, 4)]
    run(own(TIMER, expected=swapped, order="set"), tmp_path)
    words = "element_and_timer_see_their_key"
    stepwise = [own(words).expected[n] for n in (3, 1, 0, 2, 4)]
    run(own(words, expected=stepwise, order="ordered within a watermark step is not significant"), tmp_path)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (own(TIMER, kind="tea_leaves"), "tea_leaves"),
        (own(TIMER, kind="sql"), "SQL"),
        (own(TIMER, params={"function": "read tea leaves"}), "tea leaves"),
        (own(TIMER, params={"function": "emit it", "key": "phase of the moon"}), "phase of the moon"),
        (own(TIMER, params={}), "no function"),
        (own(TIMER, input=[{"moon": 3}]), "moon"),
        (own("value_lives_from_its_last_write", input=[{"t": 1, "op": "sing"}]), "sing"),
    ],
)
def test_cases_that_cannot_run_have_a_reason(case: Case, reason: str) -> None:
    with pytest.raises(NotRunnableError, match=reason):
        driver_of(case).job(case)


def test_a_mark_fails_once_its_case_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    case = own(TIMER)
    monkeypatch.setattr(test_conformance, "MARKS", {f"{case.name}[spark]": "a reason"})
    assert test_conformance._marks(case, "harness") == []
    marks = {mark.name: mark for mark in test_conformance._marks(case, "spark")}
    assert set(marks) == {"spark", "xfail"}
    assert marks["xfail"].kwargs == {"strict": True, "reason": "a reason"}


def test_any_folder_can_be_run_and_ids_contain_area_name_and_engine(tmp_path: Path) -> None:
    cases = [
        own(TIMER, name="good").fields,
        own(TIMER, name="bad", expected=[]).fields,
        own(TIMER, name="odd", kind="x").fields,
    ]
    (tmp_path / "mine.json").write_text(json.dumps(cases))
    command = [sys.executable, "-m", "pytest", "tests/conformance/test_conformance.py", "--cases", str(tmp_path)]
    command += ["-m", "not spark", "-v", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line.split(" ")[:2] for line in done.stdout.splitlines() if "::test_case[" in line and "%" in line]
    results = {test.split("::test_case")[1]: result for test, result in lines}
    assert results == {
        "[mine/good[harness]]": "PASSED",
        "[mine/good[harness-restored]]": "PASSED",
        "[mine/bad[harness]]": "FAILED",
        "[mine/bad[harness-restored]]": "FAILED",
        "[mine/odd[harness]]": "SKIPPED",
    }
    assert "1  the kind 'x' is not known" in done.stdout
