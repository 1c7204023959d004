"""The functions of the registry are complete: names, documentation, families."""

from __future__ import annotations

import pytest

from penstock.runtime.relational.functions.registry import FUNCTIONS
from penstock.table.functions.catalogue import closest, find_function, function_names, is_aggregate


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_is_documented(name: str) -> None:
    assert FUNCTIONS[name].documentation
    assert FUNCTIONS[name].family


def test_names_are_not_case_sensitive() -> None:
    assert find_function("rEpLaCe") is find_function("REPLACE")
    assert is_aggregate("listagg")


def test_operators_are_not_callable() -> None:
    assert find_function("+") is None
    assert "CASE" not in function_names()


def test_the_closest_name_is_found() -> None:
    assert closest("SUBSTRNG", function_names()) == "SUBSTRING"
    assert closest("zzzzzz", function_names()) is None
