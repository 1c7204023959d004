"""The table of PyFlink's modules and names agrees with PyFlink, and every name exists or has a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.pyflink.names import MISSING_MODULES, MISSING_NAMES, MODULES, find_name, names_of

THERE: dict[str, list[str]] = json.loads((Path(__file__).parent / "modules.json").read_text(encoding="utf-8"))
# Names that come with other layers; each has to leave this list when it is built.
NOT_YET: set[str] = set()
# The same for names of the Table API, which other changes add.
NOT_YET_IN_TABLES = {
    "BytesContentPlanReference",
    "CatalogModel",
    "CompiledPlan",
    "FilePlanReference",
    "JdbcCatalog",
    "JsonContentPlanReference",
    "PlanReference",
    "ResolvedExpression",
}


@pytest.mark.parametrize("module", THERE)
def test_every_module_has_pyflinks_names(module: str) -> None:
    assert set(THERE[module]) <= set(names_of(module))


def test_no_module_is_made_up() -> None:
    packages = {"", "datastream.formats", "datastream.utils", "util", "util.exceptions"}
    streams = {module for module in MODULES if module.split(".")[0] != "table"}
    assert streams == set(THERE) | packages
    assert not set(MODULES) & set(MISSING_MODULES)


def test_every_name_exists_or_has_a_reason() -> None:
    for module, name in [(m, n) for m in MODULES for n in names_of(m)]:
        try:
            find_name(name, module)
        except KeyError:
            expected = {*MISSING_NAMES, *NOT_YET, *NOT_YET_IN_TABLES}
            assert name in expected, f"{name} of {module} is missing without a reason"
        else:
            assert name not in MISSING_NAMES, f"{name} is there, and a reason is given for why not"
            assert name not in NOT_YET, f"{name} is there: take it off the list"


def test_tables_and_streams_have_classes_with_the_same_name() -> None:
    assert find_name("AggregateFunction", "table.udf").__module__.startswith("penstock.table.")
    assert find_name("AggregateFunction", "datastream").__module__.startswith("penstock.functions")
