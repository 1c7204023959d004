"""Columns and types of queries equal those that Flink derives."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.table.passes import apply_passes
from penstock.types.logical.text import summary
from tests.unit.table.binder.memory import MemoryCatalog

_FILE = json.loads((pathlib.Path(__file__).parent / "cases" / "queries.json").read_text())


@pytest.mark.parametrize("case", _FILE["cases"], ids=lambda c: c["id"])
def test_columns_and_types(case: dict[str, Any]) -> None:
    catalog = MemoryCatalog(*(_FILE["statements"][i] for i in case["setup"]))
    relation = catalog.query(case["query"])
    assert [[f.name, summary(f.type)] for f in relation.row_type.fields] == case["columns"]
    # Passes keep the columns; only time attributes may be gone.
    after = apply_passes(relation).row_type.fields
    assert [f.name for f in after] == [name for name, _ in case["columns"]]
    assert [summary(f.type, False) for f in after] == [summary(f.type, False) for f in relation.row_type.fields]
