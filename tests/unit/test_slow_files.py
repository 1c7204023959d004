"""The table of slow test files, which decides their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.locations import ROOT
from tests.slow_files import missing_files, start_order

TESTS = ROOT / "tests"


def test_all_listed_files_exist() -> None:
    assert missing_files(TESTS) == []


@pytest.mark.parametrize(
    ("file", "order"),
    [
        (TESTS / "system/invariance/test_invariance.py", 0),
        (TESTS / "system/spark/test_savepoints.py", 2),
        (TESTS / "unit/test_new.py", 3),
        (Path("/elsewhere/test_a.py"), 3),
    ],
)
def test_files_that_take_longer_start_first(file: Path, order: int) -> None:
    assert start_order(file, TESTS) == order
