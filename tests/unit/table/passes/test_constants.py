"""Constants are computed where that changes neither values nor errors."""

from __future__ import annotations

import pytest

from penstock.table.passes.constants import fold_constants
from penstock.table.passes.merge_calcs import merge_calcs
from tests.unit.table.passes.shown import after


@pytest.mark.parametrize(
    ("expression", "folded"),
    [
        ("1 + 2 * 3", "7"),
        ("2147483647 + 1", "-2147483648"),
        ("1 < 2", "True"),
        ("1 / 0", "/(1, 0)"),
        ("a + (1 + 1)", "+(a, 2)"),
        ("CAST(NULL AS INT) + 1", "+(None, 1)"),
        ("RAND() + (1 + 1)", None),
    ],
)
def test_values(expression: str, folded: str | None) -> None:
    found = after(f"SELECT {expression} AS x FROM t", fold_constants)[0]
    assert found == f"Calc({folded})" if folded is not None else "RAND()" in found


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("TRUE", "Calc(a)"),
        ("1 = 1 AND a > 1 + 1", "Calc(a WHERE >(a, 2))"),
        ("1 = 2", "Calc(a WHERE False)"),
    ],
)
def test_conditions(condition: str, left: str) -> None:
    assert after(f"SELECT a FROM t WHERE {condition}", merge_calcs, fold_constants)[0] == left
