"""The parity page is up to date, built names work, and refused names raise errors with reasons."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.parity.lookup import find
from tests.parity.member_calls import BROKEN, BUILT, REFUSED
from tests.parity.names import Name
from tests.parity.page import page, share_built
from tests.parity.verdicts import verdicts

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "parity.md"

# Built methods whose parameters differ from PyFlink, with the reason.
OTHER_PARAMETERS: dict[str, str] = {}


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python scripts/make_parity.py"


def test_nothing_is_broken() -> None:
    broken = {str(name): verdict.reason for name, verdict in verdicts().items() if verdict.status == BROKEN}
    assert not broken


def test_refusals_have_a_code_and_a_reason() -> None:
    for name, verdict in verdicts().items():
        if verdict.status == REFUSED:
            assert verdict.reason.startswith("["), name
            assert len(verdict.reason.split()) > 5, name


def test_ninety_percent_of_names_are_built() -> None:
    assert share_built() >= 0.9


def _methods() -> list[Any]:
    built = [n for n, v in verdicts().items() if v.status == BUILT and n.parameters is not None]
    owners = dict.fromkeys(name.owner for name in built if find(name.owner) is not None)
    return [pytest.param([n for n in built if n.owner == owner], id=owner) for owner in owners]


@pytest.mark.parametrize("methods", _methods())
def test_parameters_are_named_and_ordered_as_in_pyflink(methods: list[Name]) -> None:
    wrong = {str(n): found for n in methods if (found := _difference(n)) and str(n) not in OTHER_PARAMETERS}
    assert not wrong


def test_known_differences_still_differ() -> None:
    by_name = {str(name): name for name in verdicts()}
    assert [name for name in OTHER_PARAMETERS if not _difference(by_name[name])] == []


def _difference(name: Name) -> str:
    """How the parameters differ, if they do; further ones with defaults may follow PyFlink's."""
    member = getattr(find(name.owner), name.member, None)
    if member is None:
        return ""
    ours = [_shown(p) for p in inspect.signature(member).parameters.values() if p.name != "self"]
    theirs = list(name.parameters or ())
    plain = [(o.rstrip("?"), t.rstrip("?")) for o, t in zip(ours, theirs, strict=False)]
    same = len(ours) >= len(theirs) and all(o == t for o, t in plain)
    optional = all(o.endswith("?") for o, t in zip(ours, theirs, strict=False) if t.endswith("?"))
    more = all(o.endswith("?") or o.startswith("*") for o in ours[len(theirs) :])
    return "" if same and optional and more else f"({', '.join(ours)}), PyFlink has ({', '.join(theirs)})"


def _shown(parameter: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
    return f"{stars}{parameter.name}{'' if parameter.default is inspect.Parameter.empty else '?'}"
