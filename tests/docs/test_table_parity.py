"""The parity page of the Table API is up to date, built names work, and refused names raise errors with reasons."""

from __future__ import annotations

from pathlib import Path

from tests.parity.member_calls import BROKEN, REFUSED
from tests.parity.tables.page import page, share_built
from tests.parity.tables.verdicts import verdicts, wrong_parameters

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "table-parity.md"

# Built names whose parameters differ from PyFlink, with the reason.
OTHER_PARAMETERS = {
    "Column.copy": "PyFlink's abstract class has another name for the parameter than all its subclasses",
}


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python scripts/make_table_parity.py"


def test_nothing_is_broken() -> None:
    assert not {str(name): verdict.reason for name, verdict in verdicts().items() if verdict.status == BROKEN}


def test_refusals_have_a_code_and_a_reason() -> None:
    for name, verdict in verdicts().items():
        if verdict.status == REFUSED:
            assert verdict.reason.startswith("["), name
            assert len(verdict.reason.split()) > 5, name


def test_ninety_five_percent_of_names_are_built() -> None:
    assert share_built() >= 0.95


def test_parameters_are_named_and_ordered_as_in_pyflink() -> None:
    assert {text.partition("(")[0] for text in wrong_parameters()} <= {*OTHER_PARAMETERS}
