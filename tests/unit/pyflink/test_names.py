"""The table of PyFlink's modules and names agrees with PyFlink, and every name exists or has a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.pyflink.names import MISSING_MODULES, MISSING_NAMES, MODULES, find_name, names_of

THERE: dict[str, list[str]] = json.loads((Path(__file__).parent / "modules.json").read_text(encoding="utf-8"))
# Names that come with other layers; each has to leave this list when it is built.
NOT_YET = {
    "ConfigOption",
}


@pytest.mark.parametrize("module", THERE)
def test_every_module_has_pyflinks_names(module: str) -> None:
    assert set(THERE[module]) <= set(names_of(module))


def test_no_module_is_made_up() -> None:
    packages = {"", "datastream.formats", "datastream.utils", "table", "table.types", "util"}
    assert set(MODULES) == set(THERE) | packages
    assert not set(MODULES) & set(MISSING_MODULES)


def test_every_name_exists_or_has_a_reason() -> None:
    for name in sorted({name for module in MODULES for name in names_of(module)}):
        try:
            find_name(name)
        except KeyError:
            assert name in {*MISSING_NAMES, *NOT_YET}, f"{name} is missing without a reason"
        else:
            assert name not in MISSING_NAMES, f"{name} is there, and a reason is given for why not"
            assert name not in NOT_YET, f"{name} is there: take it off the list"
